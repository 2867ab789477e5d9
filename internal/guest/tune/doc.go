// Package tune says what a completed document wants of the host for the threads of its guest's QEMU: where they run, how
// they are scheduled, and how much of the host they get, as files of a cgroup v2. All of it is pure.
package tune
