// Package qcow2 makes empty qcow2 images and reads the headers of others. It follows QEMU's docs/interop/qcow2.txt, opens no
// file and runs no program: what is read was written by strangers, and only its header is looked at.
package qcow2
