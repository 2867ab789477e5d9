package storage

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"golang.org/x/sys/unix"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/host"
	"taproom/internal/spec"
)

// maxVolumes is how many volumes of a pool a client is told (the longest list of libvirt's protocol).
const maxVolumes = 16384

// Volumes implements server.Storage. Files and folders are volumes; sockets and the like are none.
func (s *Pools) Volumes(_ context.Context, uuid spec.UUID) ([]server.Volume, error) {
	p, err := s.active(uuid)
	if err != nil {
		return nil, err
	}
	entries, err := s.k.ReadDir(p.folder())
	if err != nil {
		return nil, system("cannot read the folder of storage pool '%s': %w", p.Name, err)
	}
	var list []server.Volume
	for _, e := range entries {
		v := server.Volume{Pool: p.Name, Name: e.Name(), Key: filepath.Join(p.folder(), e.Name())}
		if !speakable(v.Name) || host.IsTemp(v.Name) {
			continue
		}
		mode := e.Type()
		if mode&fs.ModeSymlink != 0 {
			st, err := s.k.FileFacts(v.Key)
			if err != nil {
				continue // it leads nowhere
			}
			mode = kind(st)
		}
		if mode.IsRegular() || mode.IsDir() {
			list = append(list, v)
		}
	}
	if len(list) > maxVolumes {
		return nil, system("storage pool '%s' has %d volumes; a client can be told of %d", p.Name, len(list), maxVolumes)
	}
	return list, nil
}

// speakable reports whether a name can be in a document.
func speakable(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || r == unicode.ReplacementChar })
}

// kind is the type of a file.
func kind(st unix.Stat_t) fs.FileMode {
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return 0
	case unix.S_IFDIR:
		return fs.ModeDir
	}
	return fs.ModeIrregular
}

// volume is one that exists.
type volume struct {
	server.Volume
	pool  pool
	facts unix.Stat_t
}

func (v *volume) dir() bool { return kind(v.facts).IsDir() }

// lookup finds a volume by its pool's name and its own.
func (s *Pools) lookup(poolName, name string) (*volume, error) {
	p, err := s.byName(poolName)
	switch {
	case err != nil:
		return nil, err
	case p.live == nil:
		return nil, invalid("storage pool '%s' is not active", p.Name)
	}
	v := &volume{pool: p, Volume: server.Volume{Pool: p.Name, Name: name, Key: filepath.Join(p.folder(), name)}}
	none := virterr.New(virterr.NoStorageVol, "no storage vol with matching name '%s'", name)
	if name == "" || name == "." || name == ".." || strings.ContainsRune(name, '/') || !speakable(name) || host.IsTemp(name) {
		return nil, none
	}
	if v.facts, err = s.k.FileFacts(v.Key); errors.Is(err, fs.ErrNotExist) {
		return nil, none
	} else if err != nil {
		return nil, system("cannot look at volume '%s': %w", v.Key, err)
	}
	if mode := kind(v.facts); !mode.IsRegular() && !mode.IsDir() {
		return nil, none
	}
	return v, nil
}

// Volume implements server.Storage.
func (s *Pools) Volume(_ context.Context, pool, name string) (server.Volume, error) {
	v, err := s.lookup(pool, name)
	if err != nil {
		return server.Volume{}, err
	}
	return v.Volume, nil
}

// VolumeByPath implements server.Storage.
func (s *Pools) VolumeByPath(_ context.Context, path string) (server.Volume, error) {
	none := virterr.New(virterr.NoStorageVol, "no storage vol with matching path '%s'", path)
	if !filepath.IsAbs(path) {
		return server.Volume{}, none
	}
	folder, name := filepath.Split(filepath.Clean(path))
	folder = filepath.Clean(folder)
	p, ok := s.find(func(p *pool) bool { return p.live != nil && p.folder() == folder })
	if !ok {
		return server.Volume{}, none
	}
	v, err := s.lookup(p.Name, name)
	if virterr.CodeOf(err) == virterr.NoStorageVol {
		return server.Volume{}, none
	} else if err != nil {
		return server.Volume{}, err
	}
	return v.Volume, nil
}

// DeleteVolume implements server.Storage.
func (s *Pools) DeleteVolume(_ context.Context, pool, name string) error {
	v, err := s.lookup(pool, name)
	if err != nil {
		return err
	}
	if err := s.k.Remove(v.Key); err != nil {
		return system("cannot remove volume '%s': %w", v.Key, err)
	}
	return nil
}

// open opens a volume's file. One that is written must lie in the folder itself: a link may lead to a file of somebody
// else's choice.
func (s *Pools) open(v *volume, write bool) (*os.File, error) {
	if v.dir() {
		return nil, invalid("volume '%s' is a folder", v.Key)
	}
	flags := os.O_RDONLY | unix.O_NONBLOCK
	if write {
		flags = os.O_RDWR | unix.O_NONBLOCK | unix.O_NOFOLLOW
	}
	f, err := s.k.OpenFile(v.Key, flags, 0)
	if errors.Is(err, unix.ELOOP) {
		return nil, invalid("volume '%s' is a symbolic link, which is only read; name the file that it leads to", v.Key)
	}
	if err != nil {
		return nil, system("cannot open volume '%s': %w", v.Key, err)
	}
	return f, nil
}
