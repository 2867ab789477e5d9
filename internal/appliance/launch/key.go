package launch

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
)

// snapshotFormat changes with what a template is, beyond what its key says.
const snapshotFormat = 2

// fileIdentity tells a file from every other one that was or will be at its path: who replaces or rewrites it changes the
// inode, or the time of its last change, which nobody can set. That is as good as a hash, and takes no reading.
type fileIdentity struct {
	Path     string `json:"path"`
	Device   uint64 `json:"device"`
	Inode    uint64 `json:"inode"`
	Size     int64  `json:"size"`
	Modified int64  `json:"modified"` // nanoseconds
	Changed  int64  `json:"changed"`
}

// identify returns a file's identity; of none ("") it is zero.
func identify(k *host.Kernel, path string) (fileIdentity, error) {
	if path == "" {
		return fileIdentity{}, nil
	}
	st, err := k.FileFacts(path)
	if err != nil {
		return fileIdentity{}, err
	}
	return fileIdentity{
		Path: path, Device: st.Dev, Inode: st.Ino, Size: st.Size,
		Modified: st.Mtim.Nano(), Changed: st.Ctim.Nano(),
	}, nil
}

// templateKey is what a template is good for: one QEMU, kernel, initramfs, command line, processor, kernel of the host, user.
type templateKey struct {
	Format int          `json:"format"`
	QEMU   fileIdentity `json:"qemu"`
	Files  string       `json:"files"` // key of the kernel, the initramfs and the command lines
	Sizes  []int64      `json:"sizes"` // of these files, in bytes, and of the tools
	Args   []string     `json:"args"`
	Env    []string     `json:"env"`
	Host   string       `json:"host"`    // release and version of the host's kernel
	ID     string       `json:"host_id"` // of the host: a home on a network has templates of several
	// CPU is the host's processor: what "max" means under KVM, and otherwise whose counter the guest has.
	CPU string `json:"cpu"`
	UID int    `json:"uid"`
}

// hash is the key as a file is named by it.
func (t templateKey) hash() (string, error) {
	b, err := json.Marshal(t)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16]), nil
}

// key reads what a template of m belongs to.
func (m machine) key(k *host.Kernel) (templateKey, error) {
	t := templateKey{Format: snapshotFormat, Env: m.qemu.Env, Files: m.files.Key, UID: os.Geteuid()}
	var err error
	if t.QEMU, err = identify(k, m.qemu.Binary); err != nil {
		return t, fmt.Errorf("look at QEMU: %w", err)
	}
	for _, path := range []string{m.files.Kernel, m.files.Initrd, m.files.Tools} {
		f, err := identify(k, path)
		if err != nil {
			return t, fmt.Errorf("look at what appliances boot from: %w", err)
		}
		t.Sizes = append(t.Sizes, f.Size)
	}
	if t.Args, _, err = m.config(frozenMemory).Args(firstFD); err != nil {
		return t, err
	}
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return t, fmt.Errorf("read the host's release: %w", err)
	}
	t.Host = unix.ByteSliceToString(u.Release[:]) + " " + unix.ByteSliceToString(u.Version[:])
	if t.ID, err = hostID(k); err != nil {
		return t, err
	}
	t.CPU, err = processor(k)
	return t, err
}

// firstFD is the first descriptor of a QEMU that the host chooses.
const firstFD = 3

// hostID is what systemd calls this host (machine-id(5)); "" where there is none, as in most containers.
func hostID(k *host.Kernel) (string, error) {
	b, err := k.ReadFile("/etc/machine-id")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the host's number: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}

// processor is the first processor of the host as /proc/cpuinfo has it, without what changes from moment to moment.
func processor(k *host.Kernel) (string, error) {
	b, err := k.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "", fmt.Errorf("read the host's processor: %w", err)
	}
	return firstProcessor(string(b)), nil
}
