// Package spec holds libvirt's XML documents as Go values: parse, validate, format.
//
// A value is exactly what the user wrote: no default is filled in here, no file is opened, nothing of the host is
// asked. Elements and attributes that the package does not know are kept (type Extra) and written back, so that
// define followed by dumpxml loses nothing. The package imports nothing of ours.
package spec
