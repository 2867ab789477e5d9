package launch

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"

	"taproom/internal/host"
)

// overlayPrefix begins the names of files for what guests of domains write.
const overlayPrefix = "taproom-overlay-"

// newNamedOverlay is newOverlay with a name, by which somebody else opens it; remove takes the name away. A process that is killed
// before leaves an empty image, of some hundred KiB.
func newNamedOverlay(k *host.Kernel, dir string, capacity uint64) (path string, remove func() error, err error) {
	if dir == "" {
		dir = os.TempDir()
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", nil, fmt.Errorf("make a file for what the appliance writes: %w", err)
	}
	path = filepath.Join(dir, overlayPrefix+rand.Text())
	f, err := k.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", nil, fmt.Errorf("make a file in %s for what the appliance writes: %w", dir, err)
	}
	remove = func() error { return k.Remove(path) }
	if err := writeOverlay(f, capacity); err != nil {
		_ = remove()
		return "", nil, fmt.Errorf("make a file in %s for what the appliance writes: %w", dir, err)
	}
	return path, remove, f.Close()
}
