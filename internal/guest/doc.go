// Package guest turns a domain document into a machine.
//
// Complete fills in, at define time, everything a document leaves open: the versioned machine, the processor, the
// controllers and every address. What it writes never changes afterwards, so that an upgrade does not move a device
// under a guest; running it on its own output moves nothing. Compile turns a completed document and what was
// prepared for one run (tap names, a display port, a run directory) into a QEMU configuration. Live is the document of
// a running guest. All of it is pure: no file is opened and no image is looked into, so a backing chain is what the
// document declares and never what an image claims.
//
// Defaults, the order of devices and their addresses follow libvirt 9.0, observed by letting it define the documents
// in testdata; testdata/README.md lists where we deviate on purpose.
package guest
