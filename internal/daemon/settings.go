package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os/user"
	"path/filepath"
	"strconv"

	"github.com/pelletier/go-toml/v2"

	"taproom/internal/engine"
	"taproom/internal/host"
)

// Settings are taproomd.toml. Every one has a default that serves.
type Settings struct {
	// Group may open the read-write sockets beside root: that is as good as being root.
	Group string `toml:"group"`
	// Emulator is the QEMU of documents that name none.
	Emulator string `toml:"emulator"`
	// UIDFirst and UIDCount are the range that running guests get a uid of their own from.
	UIDFirst uint32 `toml:"uid_first"`
	UIDCount uint32 `toml:"uid_count"`
	// VNCPortFirst and VNCPortLast are the TCP ports that graphics with autoport get.
	VNCPortFirst uint16 `toml:"vnc_port_first"`
	VNCPortLast  uint16 `toml:"vnc_port_last"`
	// QEMUReadySeconds is how long a guest's QEMU may take from its start until its monitor answers.
	QEMUReadySeconds uint16 `toml:"qemu_ready_seconds"`
}

// readSettings reads taproomd.toml; a file that is not there gives the defaults.
func readSettings(k *host.Kernel, p engine.Paths, id engine.Identity) (Settings, error) {
	s := Settings{
		Group:    "libvirt",
		Emulator: "/usr/bin/qemu-system-x86_64",
		UIDFirst: id.UIDFirst, UIDCount: 65_536,
		VNCPortFirst: 5900, VNCPortLast: 65_535,
		QEMUReadySeconds: 30,
	}
	path := filepath.Join(p.Config, "taproomd.toml")
	b, err := k.ReadFileLimit(path, 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	d := toml.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		var strict *toml.StrictMissingError
		if errors.As(err, &strict) {
			return s, fmt.Errorf("%s has settings that do not exist:\n%s", path, strict.String())
		}
		return s, fmt.Errorf("read %s: %w", path, err)
	}
	if s.UIDFirst == 0 || s.UIDCount == 0 || s.UIDFirst+s.UIDCount < s.UIDFirst {
		return s, fmt.Errorf("%s: uid_first and uid_count: %d and %d are no range without uid 0", path, s.UIDFirst, s.UIDCount)
	}
	if s.VNCPortFirst < 5900 || s.VNCPortLast < s.VNCPortFirst {
		return s, fmt.Errorf("%s: vnc_port_first and vnc_port_last: %d to %d is no range from 5900 up", path, s.VNCPortFirst, s.VNCPortLast)
	}
	if s.QEMUReadySeconds == 0 {
		return s, fmt.Errorf("%s: qemu_ready_seconds: 0 leaves QEMU no time to start; the default is 30", path)
	}
	return s, nil
}

// gid returns the number of the group, or -1 where the host has no such group.
func (s Settings) gid() int {
	g, err := user.LookupGroup(s.Group)
	if err != nil {
		return -1
	}
	id, err := strconv.Atoi(g.Gid)
	if err != nil {
		return -1
	}
	return id
}
