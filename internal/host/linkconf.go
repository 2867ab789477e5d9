package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// LinkConf reads the settings of IP for a link ("default": those that a new link gets), by their names below net/ as in
// "ipv6/disable_ipv6". What cannot be read, as a secret that nobody has set, is left out; so is a family that the kernel
// has not.
func (k *Kernel) LinkConf(link string) (map[string]string, error) {
	k.Step("sysctl list")
	out := map[string]string{}
	var err error
	k.InNetNS(func() {
		for _, family := range []string{"ipv4", "ipv6"} {
			err = errors.Join(err, linkConf(filepath.Join("/proc/sys/net", family, "conf", link), family+"/", out))
		}
	})
	if err != nil {
		return nil, fmt.Errorf("read the settings of link %s: %w", link, err)
	}
	return out, nil
}

func linkConf(dir, prefix string, out map[string]string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if b, err := os.ReadFile(filepath.Join(dir, e.Name())); err == nil {
			out[prefix+e.Name()] = strings.TrimSpace(string(b))
		}
	}
	return err
}

// SetLinkConf writes one of them.
func (k *Kernel) SetLinkConf(link, setting, value string) error {
	family, name, ok := strings.Cut(setting, "/")
	if !ok {
		return fmt.Errorf("set %s of link %s: it is no setting such as ipv6/accept_ra", setting, link)
	}
	return k.SetSysctl(filepath.Join("net", family, "conf", link, name), value)
}
