package pool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/cache"
	"taproom/internal/host"
)

// DefaultDir is where the pools of this user have their sockets.
func DefaultDir() (string, error) {
	if os.Geteuid() == 0 {
		return "/run/taproom/appliances", nil
	}
	if run := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(run) {
		return filepath.Join(run, "taproom/appliances"), nil
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a folder for the sockets of pools: %w; set XDG_RUNTIME_DIR", err)
	}
	return filepath.Join(base, "taproom/appliances"), nil
}

// Place is where one pool is found.
type Place struct {
	Dir string `json:"dir"`
	Key string `json:"key"`
}

// Find returns the place of a pool, in the default folder where dir is "".
func Find(k *host.Kernel, dir string, o Order) (Place, error) {
	var err error
	if dir == "" {
		if dir, err = DefaultDir(); err != nil {
			return Place{}, err
		}
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return Place{}, err
	}
	key, err := o.Key(k)
	return Place{dir, key}, err
}

// Socket is the pool's.
func (p Place) Socket() string { return filepath.Join(p.Dir, "pool-"+p.Key+".sock") }

// Log is where a pool that was started on demand writes why it ended.
func (p Place) Log() string { return filepath.Join(p.Dir, "pool-"+p.Key+".log") }

// Sockets are those of all pools in a folder, also of orders that nobody gives any more.
func Sockets(k *host.Kernel, dir string) ([]string, error) {
	if dir == "" {
		var err error
		if dir, err = DefaultDir(); err != nil {
			return nil, err
		}
	}
	return files(k, dir, ".sock")
}

// files are the pools' that end so. There are none in a folder that is not there.
func files(k *host.Kernel, dir, ending string) ([]string, error) {
	all, err := k.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for pools of appliances: %w", err)
	}
	var out []string
	for _, e := range all {
		if strings.HasPrefix(e.Name(), "pool-") && strings.HasSuffix(e.Name(), ending) {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	return out, nil
}

// lock keeps everybody else from binding and removing sockets in the folder: else two pools that start at a time would remove each
// other's, and one that ends its successor's.
func (p Place) lock(ctx context.Context) (unlock func(), err error) {
	folder, err := cache.Open(p.Dir)
	if err != nil {
		return nil, err
	}
	return folder.Lock(ctx, func() {})
}

// listen binds the pool's socket, or says ErrServed, and removes what pools of former orders have left.
func (p Place) listen(ctx context.Context, k *host.Kernel) (*os.File, error) {
	unlock, err := p.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	asked, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	if _, err := StatusOf(asked, k, p.Socket()); err == nil {
		return nil, ErrServed
	}
	f, err := k.ListenUnix(p.Socket(), 0o600)
	if errors.Is(err, host.ErrInUse) { // by one that does not answer, too
		return nil, fmt.Errorf("%w: %w", ErrServed, err)
	}
	if err != nil {
		return nil, err
	}
	p.sweep(ctx, k)
	return f, nil
}

// What a sweep keeps to.
const (
	answersWithin = time.Second // how long a pool is listened to while the lock is held: every other pool of the user waits for that
	youngLog      = time.Minute // such a log may be of a pool that is about to bind its socket
)

// sweep removes sockets that nobody serves, and the logs of pools without a socket. The lock is held. What cannot be removed is no
// reason not to serve, and stays for the next one.
func (p Place) sweep(ctx context.Context, k *host.Kernel) {
	ctx, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	sockets, _ := Sockets(k, p.Dir)
	for _, s := range sockets {
		if s == p.Socket() {
			continue
		}
		if c, err := k.DialUnix(ctx, s); err == nil {
			_ = c.Close()
		} else if errors.Is(err, unix.ECONNREFUSED) {
			_ = k.Remove(s)
		}
	}
	logs, _ := files(k, p.Dir, ".log")
	for _, log := range logs {
		if _, err := k.FileFacts(strings.TrimSuffix(log, ".log") + ".sock"); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if st, err := k.FileFacts(log); err == nil && time.Since(time.Unix(st.Mtim.Unix())) > youngLog {
			_ = k.Remove(log)
		}
	}
}

// leaveWithin is how long a pool that ends waits for others in the folder. Its socket's name is removed by the next one otherwise.
const leaveWithin = 10 * time.Second

// leave removes the socket's name, while the pool still listens: so it is its own.
func (p Place) leave(ctx context.Context, k *host.Kernel) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveWithin)
	defer cancel()
	unlock, err := p.lock(ctx)
	if err != nil {
		return
	}
	defer unlock()
	_ = k.Remove(p.Socket())
}

// prepare makes the folder, which is this user's alone.
func (p Place) prepare(k *host.Kernel) error {
	if err := k.Mkdir(p.Dir, 0o700); err != nil {
		return err
	}
	st, err := k.FileFacts(p.Dir)
	if err != nil {
		return err
	}
	const others = 0o022
	if int(st.Uid) != os.Geteuid() || st.Mode&others != 0 {
		return fmt.Errorf("%s belongs to user %d and has mode %04o: others could put a socket of theirs there; chown it to user %d and chmod go-w",
			p.Dir, st.Uid, st.Mode&0o7777, os.Geteuid())
	}
	return nil
}
