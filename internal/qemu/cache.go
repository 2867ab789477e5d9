package qemu

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// cacheFormat changes with every change of what a probe asks or how it is written down.
const cacheFormat = 3

// cacheKey says which binary an answer belongs to.
type cacheKey struct {
	Format   int    `json:"format"`
	Binary   string `json:"binary"`
	Size     int64  `json:"size"`
	Modified int64  `json:"modified"` // nanoseconds
	KVM      bool   `json:"kvm"`
}

// cacheFile is what lies on disk. The sum is of the raw capabilities.
type cacheFile struct {
	Key  cacheKey        `json:"key"`
	Sum  string          `json:"sum"`
	Caps json.RawMessage `json:"capabilities"`
}

func (p *Prober) key(binary string) (cacheKey, error) {
	p.Kernel.Step("file stat " + filepath.Base(binary))
	st, err := os.Stat(binary)
	if err != nil {
		return cacheKey{}, err
	}
	if !st.Mode().IsRegular() {
		return cacheKey{}, whyNot(p.Kernel, binary, p.UID, p.GID, syscall.EACCES)
	}
	return cacheKey{Format: cacheFormat, Binary: binary, Size: st.Size(), Modified: st.ModTime().UnixNano(), KVM: p.KVM}, nil
}

func (p *Prober) path(key cacheKey) string {
	sum := sha256.Sum256([]byte(key.Binary))
	return filepath.Join(p.CacheDir, "qemu-"+hex.EncodeToString(sum[:8])+".json")
}

// load returns what was stored for exactly this binary. Anything else, a damaged file included, is nil: the binary is
// asked again and the file replaced.
func (p *Prober) load(key cacheKey) *Capabilities {
	if p.CacheDir == "" {
		return nil
	}
	const most = 16 << 20
	b, err := p.Kernel.ReadFileLimit(p.path(key), most)
	if err != nil {
		return nil
	}
	var f cacheFile
	if json.Unmarshal(b, &f) != nil || f.Key != key || f.Sum != sum(f.Caps) {
		return nil
	}
	caps := new(Capabilities)
	if json.Unmarshal(f.Caps, caps) != nil {
		return nil
	}
	return caps
}

func (p *Prober) store(key cacheKey, caps *Capabilities) error {
	if p.CacheDir == "" {
		return nil
	}
	b, err := json.Marshal(caps)
	if err != nil {
		return err
	}
	doc, err := json.Marshal(cacheFile{Key: key, Sum: sum(b), Caps: b})
	if err != nil {
		return err
	}
	if err := errors.Join(p.Kernel.Mkdir(p.CacheDir, 0o755), p.Kernel.WriteFile(p.path(key), doc, 0o644, false)); err != nil {
		return fmt.Errorf("keep the capabilities of %s: %w", key.Binary, err)
	}
	return nil
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}
