package host

import (
	"os"
	"path/filepath"
	"strings"
)

// DMI is what the host's firmware calls the machine (/sys/class/dmi/id), by the kernel's names of the strings:
// "bios_vendor", "product_name". It is empty where the firmware has no SMBIOS.
func (k *Kernel) DMI() map[string]string {
	k.Step("dmi")
	return dmi("/sys/class/dmi/id")
}

func dmi(dir string) map[string]string {
	out := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return out
	}
	for _, e := range entries {
		name := e.Name()
		prefix, _, _ := strings.Cut(name, "_")
		switch prefix {
		case "bios", "sys", "product", "board":
			if b, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
				out[name] = strings.TrimSpace(string(b))
			}
		}
	}
	return out
}
