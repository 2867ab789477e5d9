// Package desktoptest holds what people sit in front of against the real daemon, unmodified as the distribution has it:
// virt-install and its siblings, virt-manager on a display of its own, and a guest of the distribution that is booted to
// its login. It needs packages of its own and takes minutes: `make desktop` and `make guest-debian` run it.
package desktoptest
