// Package pid1 is what every first process of a guest of ours needs: it loads modules out of the initramfs, hears of devices, reads
// the host's port, and mixes in entropy.
package pid1
