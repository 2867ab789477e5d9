// Package tuning brings the cgroup of a guest's QEMU and its threads to what a document wants: it reads what the kernel
// has, and changes what differs. So a start, a change while the guest runs, one that is taken back and a daemon that takes
// over are the same.
package tuning
