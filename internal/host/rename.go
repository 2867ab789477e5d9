package host

import (
	"os"
	"path/filepath"
)

// Rename moves a file within its file system; what stood at to is replaced.
func (k *Kernel) Rename(from, to string) error {
	k.Step("file rename " + filepath.Base(from))
	return os.Rename(from, to)
}
