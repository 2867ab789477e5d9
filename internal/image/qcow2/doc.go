// Package qcow2 makes empty qcow2 images, reads the headers of others and checks the tables that they name. It follows QEMU's
// docs/interop/qcow2.txt, opens no file and runs no program. What is read was written by strangers: Read looks at the header alone,
// Check at the tables too, and neither at the guest's data.
package qcow2
