// Package appliance makes the built-in guest: the distribution's kernel, unpacked and not installed, or one of our own configuration
// where that was built, and an initramfs whose first process is taproom-agent. Ensure makes both, or finds them made; Client talks to
// the agent of a guest that runs them.
//
// Nothing is installed and nothing outside the cache folder is written, so no root is needed: apt works on lists of
// its own where the machine has none. What exists under its final name in the cache is complete; two processes that
// need the same thing make it once.
package appliance
