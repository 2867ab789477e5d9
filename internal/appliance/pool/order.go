package pool

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"taproom/internal/appliance/build"
	"taproom/internal/appliance/launch"
	"taproom/internal/host"
	"taproom/internal/version"
)

// Order says which appliances a pool has: what a launch.Spec holds of that.
type Order struct {
	Files       build.Files `json:"files"`
	Memory      uint64      `json:"memory,omitempty"` // MiB
	Machine     string      `json:"machine,omitempty"`
	Accelerator string      `json:"accelerator,omitempty"`
	QEMU        string      `json:"qemu"`
	Launcher    string      `json:"launcher,omitempty"`
	Cgroup      string      `json:"cgroup,omitempty"`
	CacheDir    string      `json:"cache_dir,omitempty"`
	NIC         bool        `json:"nic,omitempty"`
}

// NewOrder takes from a spec what a pool has to know.
func NewOrder(k *host.Kernel, s launch.Spec) (Order, error) {
	o := Order{
		Files: s.Files, Memory: s.Memory, Machine: s.Machine, Accelerator: s.Accelerator, QEMU: s.QEMU, Launcher: s.Launcher,
		Cgroup: s.Cgroup, CacheDir: s.CacheDir, NIC: s.NIC,
	}
	var err error
	if o.QEMU == "" {
		if o.QEMU, err = k.LookPath("qemu-system-x86_64"); err != nil {
			return o, fmt.Errorf("find QEMU: %w; install qemu-system-x86, or name the emulator", err)
		}
	}
	if o.Memory == 0 { // the same as who says so
		o.Memory = max(launch.DefaultMemory, uint64(s.Files.Memory))
	}
	for _, path := range []*string{&o.QEMU, &o.Launcher, &o.CacheDir, &o.Files.Kernel, &o.Files.Initrd, &o.Files.Tools} {
		if *path == "" {
			continue
		}
		if *path, err = filepath.Abs(*path); err != nil { // a pool has another working directory
			return o, err
		}
	}
	return o, nil
}

// Spec is the order as launch takes it.
func (o Order) Spec(k *host.Kernel) launch.Spec {
	return launch.Spec{
		Kernel: k, Way: launch.WayTemplate, Files: o.Files, Memory: o.Memory, Machine: o.Machine, Accelerator: o.Accelerator,
		QEMU: o.QEMU, Launcher: o.Launcher, Cgroup: o.Cgroup, CacheDir: o.CacheDir, NIC: o.NIC,
	}
}

// identity tells a file from one that took its place.
type identity struct {
	Inode, Device  uint64
	Size, Modified int64
}

// Key names a pool: of one order, one QEMU, one build of taproom, one user. Whoever has another of these has another pool, so
// that nobody gets an appliance of before an upgrade.
func (o Order) Key(k *host.Kernel) (string, error) {
	st, err := k.FileFacts(o.QEMU)
	if err != nil {
		return "", fmt.Errorf("look at QEMU: %w", err)
	}
	b, err := json.Marshal(struct {
		Order    Order
		QEMU     identity
		Build    string
		Protocol int
		Handed   int
		UID      int
	}{o, identity{st.Ino, st.Dev, st.Size, st.Mtim.Nano()}, version.Version, protocolVersion, launch.HandOverVersion, os.Geteuid()})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:12]), nil
}
