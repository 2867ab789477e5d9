package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Sysctl reads a setting by its path below /proc/sys ("net/ipv4/ip_forward"), in the Kernel's network namespace.
func (k *Kernel) Sysctl(path string) (string, error) {
	k.Step("sysctl get")
	file, err := sysctlFile(path)
	if err != nil {
		return "", err
	}
	var b []byte
	k.InNetNS(func() { b, err = os.ReadFile(file) })
	if err != nil {
		return "", fmt.Errorf("read sysctl %s: %w", path, err)
	}
	return strings.TrimRight(string(b), "\n"), nil
}

// SetSysctl writes a setting.
func (k *Kernel) SetSysctl(path, value string) error {
	k.Step("sysctl set")
	file, err := sysctlFile(path)
	if err != nil {
		return err
	}
	k.InNetNS(func() { err = writeOnce(file, value) })
	if err != nil {
		return fmt.Errorf("set sysctl %s to %s: %w", path, value, err)
	}
	return nil
}

// writeOnce writes into a file that is there. A setting is no file to wait for, so it is none of the runtime's, which would ask
// three times for that.
func writeOnce(file, value string) error {
	fd, err := ignoringEINTR(func() (int, error) { return unix.Open(file, unix.O_WRONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return &fs.PathError{Op: "open", Path: file, Err: err}
	}
	_, err = ignoringEINTR(func() (int, error) { return unix.Write(fd, []byte(value)) })
	if err = errors.Join(err, unix.Close(fd)); err != nil {
		return &fs.PathError{Op: "write", Path: file, Err: err}
	}
	return nil
}

func sysctlFile(path string) (string, error) {
	if !filepath.IsLocal(path) {
		return "", fmt.Errorf("sysctl %q: not a path below /proc/sys", path)
	}
	return filepath.Join("/proc/sys", path), nil
}
