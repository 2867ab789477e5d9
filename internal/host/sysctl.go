package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
	k.InNetNS(func() { err = os.WriteFile(file, []byte(value), 0) })
	if err != nil {
		return fmt.Errorf("set sysctl %s to %s: %w", path, value, err)
	}
	return nil
}

func sysctlFile(path string) (string, error) {
	if !filepath.IsLocal(path) {
		return "", fmt.Errorf("sysctl %q: not a path below /proc/sys", path)
	}
	return filepath.Join("/proc/sys", path), nil
}
