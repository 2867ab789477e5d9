// Package inside is the first process of a disposable appliance. It loads what modules the initramfs holds, mounts the
// kernel's own file systems, and answers on the host's port (package proto) until it is told to shut down.
//
// The disks that it is given are a stranger's. Their file systems are mounted below one folder, the tree, without
// devices and without set-user-ID, and every path is resolved within it (openat2, RESOLVE_IN_ROOT): a symbolic link in
// an image never leads out of it.
//
// An appliance may be frozen and cloned a thousand times. So nothing here wakes by itself: no garbage collection below a limit of
// memory, no timers but for the renewal of a lease once there is a network, no polling, and no thread but those that wait in the kernel. What must differ between clones is
// not made before the host says hello.
package inside
