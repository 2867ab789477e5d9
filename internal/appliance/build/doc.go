// Package build makes what disposable appliances boot from, in the cache: a kernel, an initramfs whose first process is
// taproom-init, and a disk of tools. The kernel is one of our own configuration, built from the distribution's source, or the
// distribution's with the modules that appliances need.
//
// What is there is found in milliseconds. Nothing is installed, nothing outside the cache is written, and no root is needed.
package build
