package lanfiles

import (
	"errors"
	"fmt"
	"io/fs"
)

// Move is what happens to a NIC.
type Move struct {
	NIC    string
	Index  int    // of the NIC
	Kind   string // as the kernel calls it: "", "vlan", "bond"…
	Bridge string
	MAC    string
	MTU    int
}

// Who manages a NIC.
const (
	Networkd       = "systemd-networkd"
	NetworkManager = "NetworkManager"
	Ifupdown       = "ifupdown"
	Netplan        = "netplan"
	Nobody         = "nobody"
)

// Change is a file as it is and as it should be. Paths have no slash at their beginning.
type Change struct {
	Path   string      `json:"path"`
	Mode   fs.FileMode `json:"mode"`
	New    bool        `json:"new,omitempty"` // there is no such file
	Before string      `json:"before,omitempty"`
	After  string      `json:"after,omitempty"`
}

// Result is what has to be written, by whose rules, and what the administrator should know.
type Result struct {
	Manager string
	Changes []Change
	Notes   []string
	Then    string // the command that has the manager take it up
}

// ErrUnwritten says that the configuration is not of a kind that can be written; the bridge can be made all the same.
var ErrUnwritten = errors.New("the bridge would be gone after the next boot")

// ErrUnmanaged says that a program is missing without which the NIC should not be touched.
var ErrUnmanaged = errors.New("install it, or have somebody else manage the NIC")

// mine begins every file and every profile that is written.
const mine = "taproom-"

// Persist returns what has to be written below the root of a host.
func Persist(root fs.FS, m Move) (Result, error) {
	for _, manager := range []func(fs.FS, Move) (Result, bool, error){networkd, networkManager, ifupdown} {
		if r, is, err := manager(root, m); is || err != nil {
			return r, err
		}
	}
	return Result{Manager: Nobody, Notes: []string{fmt.Sprintf("nobody here manages %s (systemd-networkd, NetworkManager and ifupdown were looked for): nothing is written, and %s is gone after the next boot", m.NIC, m.Bridge)}}, nil
}

// note is what files of ours begin with.
func note(m Move) string {
	return fmt.Sprintf("# Written by taproom, which made the bridge %s of %s. It goes with: taproom net bridge --undo %s\n", m.Bridge, m.NIC, m.Bridge)
}

// read reads a file; one that is not there is "".
func read(root fs.FS, path string) (string, bool, error) {
	b, err := fs.ReadFile(root, path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	return string(b), err == nil, err
}

// newFile is one that must not be there.
func newFile(root fs.FS, path string, mode fs.FileMode, text string) (Change, error) {
	if _, there, err := read(root, path); there || err != nil {
		return Change{}, fmt.Errorf("/%s is there already and would be overwritten; look whose it is, and remove it: %w", path, errors.Join(ErrUnwritten, err))
	}
	return Change{Path: path, Mode: mode, New: true, After: text}, nil
}
