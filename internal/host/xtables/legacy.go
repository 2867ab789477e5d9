package xtables

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"taproom/internal/host"
)

// LegacyInUse reports whether somebody has used the older interface in the Kernel's network namespace. It runs no program, and unlike
// asking for a table's rules it makes the kernel create none.
func LegacyInUse(k *host.Kernel) (bool, error) {
	k.Step("xtables read legacy tables")
	var errs []error
	used := false
	k.InNetNS(func() {
		for _, name := range []string{"ip_tables_names", "ip6_tables_names"} {
			b, err := os.ReadFile("/proc/thread-self/net/" + name)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, fmt.Errorf("look for rules of iptables-legacy: %w", err))
			}
			used = used || len(bytes.TrimSpace(b)) > 0
		}
	})
	return used, errors.Join(errs...)
}
