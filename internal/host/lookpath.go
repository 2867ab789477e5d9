package host

import "os/exec"

// LookPath finds a program by the daemon's PATH.
func (k *Kernel) LookPath(name string) (string, error) {
	k.Step("file look up " + name)
	return exec.LookPath(name)
}
