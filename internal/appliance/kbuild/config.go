package kbuild

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // configurations
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// Config is a kernel's configuration.
type Config struct {
	Name string
	// Fragment is what is set on top of the kernel's tinyconfig, and looked for in what came of it.
	Fragment []byte
	// steps is about how many lines make prints while it builds this.
	steps int
	arch  string // make's ARCH; "": x86_64
	edits []edit // of the source
}

//go:embed config/appliance.config
var applianceFragment []byte

//go:embed config/guest.config
var guestFragment []byte

// Appliance is the kernel of disposable appliances: file systems, RAID, LVM, LUKS, virtio; one processor, no network, no ACPI.
func Appliance() Config { return Config{Name: "appliance", Fragment: applianceFragment, steps: 1650} }

// Guest is the kernel of the built-in guest: what Appliance has, and what QEMU's machines can have, several processors, ACPI, and IP.
func Guest() Config {
	return Config{Name: "guest", Fragment: slices.Concat(applianceFragment, guestFragment), steps: 1900}
}

// hash is a short name of what the configuration says.
func (c Config) hash() string {
	h := sha256.New()
	h.Write(c.Fragment)
	for _, e := range c.edits {
		fmt.Fprintf(h, "\n%q %q %q", e.file, e.old, e.with)
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

// ConfigError says which options did not come out as the fragment has them.
type ConfigError struct{ Options []string }

// Error implements error.
func (e *ConfigError) Error() string {
	return fmt.Sprintf("this kernel's source does not take the configuration: %s", strings.Join(e.Options, ", "))
}

// check compares a finished configuration with the fragment. What is not there is off.
func (c Config) check(finished []byte) error {
	got := options(finished)
	var off []string
	for name, want := range options(c.Fragment) {
		if got[name] != want {
			off = append(off, fmt.Sprintf("%s is %q, want %q", name, got[name], want))
		}
	}
	if len(off) == 0 {
		return nil
	}
	slices.Sort(off)
	return &ConfigError{off}
}

// options reads lines of the form CONFIG_NAME=value. "n", which only fragments have, is the same as no line.
func options(b []byte) map[string]string {
	m := map[string]string{}
	for line := range bytes.Lines(b) {
		name, value, found := strings.Cut(strings.TrimSpace(string(line)), "=")
		if !found || !strings.HasPrefix(name, "CONFIG_") {
			continue
		}
		if value == "n" {
			value = ""
		}
		m[name] = value
	}
	return m
}
