// Package load sends TCP and UDP from one network namespace to another and counts what arrives, as those who hold a limit
// against its promise need it: streams that last until they are told to end, the rate at which the receiver gets payload
// between two moments, and how long a small request takes meanwhile. A Guest is a namespace behind a tap: its TCP hands out
// segments of 64 KiB with a virtio-net header, as a virtio guest's does.
package load
