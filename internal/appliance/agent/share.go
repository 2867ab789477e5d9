package agent

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/wire"
)

// share mounts a shared folder where it is not mounted yet, and works in it. It never leaves that folder.
func share(s wire.Share) (wire.ShareResult, error) {
	var r wire.ShareResult
	at := "/mnt/" + s.Tag
	root, err := os.OpenRoot("/mnt")
	if err == nil {
		defer root.Close()
		err = root.Mkdir(s.Tag, 0o755)
	}
	switch {
	case errors.Is(err, os.ErrExist): // mounted by an earlier question
	case err != nil:
		return r, err
	default:
		if err := unix.Mount(s.Tag, at, "virtiofs", unix.MS_NOSUID|unix.MS_NODEV, ""); err != nil {
			return r, errors.Join(fmt.Errorf("mount %s: %w", s.Tag, err), root.Remove(s.Tag))
		}
	}
	dir, err := root.OpenRoot(s.Tag)
	if err != nil {
		return r, err
	}
	defer dir.Close()
	if s.Write != "" {
		if err := writeIn(dir, s.Write, s.Text); err != nil {
			return r, err
		}
	}
	if s.Read != "" {
		r.Text, err = readIn(dir, s.Read)
	}
	return r, err
}

func writeIn(dir *os.Root, name, text string) error {
	f, err := dir.Create(name)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

func readIn(dir *os.Root, name string) (string, error) {
	const most = 4096
	f, err := dir.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most))
	return string(b), err
}
