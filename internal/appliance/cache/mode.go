package cache

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// MkdirAll makes a folder and those above it that every user may enter, whatever the umask. Those that are
// there stay as they are.
func MkdirAll(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	if above := filepath.Dir(dir); above != dir {
		if err := MkdirAll(above); err != nil {
			return err
		}
	}
	err := os.Mkdir(dir, 0o755)
	if errors.Is(err, fs.ErrExist) { // another process was faster, or it is a file
		if info, serr := os.Stat(dir); serr == nil && info.IsDir() {
			return nil
		}
	}
	if err != nil {
		return err
	}
	return os.Chmod(dir, 0o755)
}

// makeFolder makes the folder of a cache. Those above it are for every user, too, where the cache is root's, whose QEMU runs as users of
// its own; a user's own are that user's alone.
func makeFolder(dir string, root bool) error {
	if !root {
		if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
			return err
		}
	}
	return MkdirAll(dir)
}

// WriteFile makes a file that every user may read, whatever the umask.
func WriteFile(path string, data []byte) error {
	if err := os.WriteFile(path, data, 0o644); err != nil {
		return err
	}
	return os.Chmod(path, 0o644)
}
