package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"taproom/internal/appliance/cache"
	"taproom/internal/appliance/proto"
	"taproom/internal/host"
	"taproom/internal/qemu/qmp"
)

// templatesKept is how many templates stay in the cache, the ones used last: 25 to 30 MB each.
const templatesKept = 6

// DefaultCacheDir is where root keeps templates, or where this user does.
func DefaultCacheDir() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/cache/taproom/templates", nil
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a folder for templates: %w; set XDG_CACHE_HOME", err)
	}
	return filepath.Join(base, "taproom/templates"), nil
}

// template finds the template of this machine, or makes it. Whoever comes first makes it, the others wait.
func (l *Launcher) template(ctx context.Context) (_ *snapshot, err error) {
	key, err := l.machine.key(l.k)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err == nil {
			l.madeWith = key.QEMU
		}
	}()
	name, err := key.hash()
	if err != nil {
		return nil, err
	}
	folder, err := l.folder()
	if err != nil {
		return nil, err
	}
	path := folder.Path("template-" + name)
	if s, err := l.load(path, name); err == nil {
		return s, nil
	}
	unlock, err := folder.Lock(ctx, func() {})
	if err != nil {
		return nil, err
	}
	defer unlock()
	s, err := l.load(path, name) // another one may have made it meanwhile
	if err == nil {
		return s, nil
	}
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errSnapshot) {
		return nil, err
	}
	if s, err = l.freeze(ctx); err != nil {
		return nil, err
	}
	_, err = folder.Publish(filepath.Base(path), func(f *os.File) error { return s.write(ctx, l.k, name, f) })
	if err != nil { // a disk that is full costs the next caller a boot, and this one nothing
		l.why = fmt.Sprintf("the template is not kept: %v", err)
	}
	if err := sweepTemplates(l.k, folder); err != nil {
		l.why = fmt.Sprintf("old templates are not removed: %v", err)
	}
	return s, nil
}

// folder is where templates are, which is this user's alone.
func (l *Launcher) folder() (cache.Folder, error) {
	dir := l.spec.CacheDir
	if dir == "" {
		var err error
		if dir, err = DefaultCacheDir(); err != nil {
			return cache.Folder{}, err
		}
	}
	if err := l.k.Mkdir(dir, 0o700); err != nil {
		return cache.Folder{}, err
	}
	st, err := l.k.FileFacts(dir)
	if err != nil {
		return cache.Folder{}, err
	}
	const others = 0o022
	if int(st.Uid) != os.Geteuid() || st.Mode&others != 0 {
		return cache.Folder{}, fmt.Errorf("%s belongs to user %d and has mode %04o: others could change what appliances begin with; chown it to user %d and chmod go-w",
			dir, st.Uid, st.Mode&0o7777, os.Geteuid())
	}
	return cache.Open(dir)
}

// load reads a template from disk. It is fs.ErrNotExist, errSnapshot, or an error of the host.
func (l *Launcher) load(path, key string) (*snapshot, error) {
	f, err := l.k.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s, err := readSnapshot(l.k, f, key, int64(l.machine.memory)<<20)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := l.k.Touch(path); err != nil { // it may be the first to go when room is made; it is read, and good
		l.why = fmt.Sprintf("nobody will know that the template was used: %v", err)
	}
	return s, nil
}

// freeze boots a machine and keeps what it is when its agent has answered.
func (l *Launcher) freeze(ctx context.Context) (*snapshot, error) {
	memory, err := l.k.SealableMemory("appliance", int64(l.machine.memory)<<20)
	if err != nil {
		return nil, err
	}
	s := &snapshot{memory: memory}
	if s.state, err = l.boot(ctx, memory); err == nil {
		err = l.k.Seal(memory) // nobody has it mapped any more
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// boot runs the template's machine until its agent has answered, and returns the state of its devices. Its memory is in the
// file then, and QEMU is gone.
func (l *Launcher) boot(ctx context.Context, memory *os.File) (_ []byte, err error) {
	r, err := run(ctx, l.k, l.runSpec(frozenMemory, memory))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.end()) }()
	agent := proto.NewClient(r.agent)
	err = rehearse(ctx, agent)
	if err == nil {
		// What it was asked is answered, and it waits for more: nothing is on its way in either direction.
		_, err = agent.Detach()
	}
	if err != nil {
		return nil, r.said(ctx, errors.Join(err, agent.Close()))
	}
	state, err := save(ctx, r)
	return state, r.said(ctx, err)
}

// rehearse greets a template's agent as its clones will be greeted. What that takes of the guest is made here once, and not by each
// of them: memory, open files, room on a stack. Nothing of the greeting lasts: the next one has all of it replaced.
func rehearse(ctx context.Context, agent *proto.Client) error {
	g, err := newGreeting(time.Now())
	if err == nil {
		_, err = agent.Hello(ctx, g)
	}
	return err
}

// beginning is what a clone goes on with: the state of its devices, and its memory, which is the caller's to close. The template is
// another one where QEMU was replaced since it was made, as an upgrade does: no other QEMU takes it, or not as it was meant.
func (l *Launcher) beginning(ctx context.Context) (state []byte, memory *os.File, err error) {
	l.sharing.Lock()
	defer l.sharing.Unlock()
	now, err := identify(l.k, l.machine.qemu.Binary)
	if err != nil {
		return nil, nil, fmt.Errorf("look at QEMU: %w", err)
	}
	if now != l.madeWith {
		fresh, err := l.template(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("make a template with the QEMU that is there now: %w", err)
		}
		old := l.shared
		l.shared = fresh
		if err := old.close(); err != nil {
			return nil, nil, err
		}
	}
	memory, err = l.k.Duplicate(l.shared.memory)
	return l.shared.state, memory, err
}

// save stops a guest and returns the state of its devices.
func save(ctx context.Context, r *running) ([]byte, error) {
	from, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer from.Close()
	defer to.Close()
	m := r.qemu.QMP()
	if err := m.GetFD(ctx, "state", to); err != nil {
		return nil, err
	}
	if err := to.Close(); err != nil { // QEMU has the only one: it ends with the state
		return nil, err
	}
	err = m.ExecuteBatch(ctx, []qmp.Command{
		{Name: "migrate-set-capabilities", Args: capabilities()},
		{Name: "migrate", Args: map[string]string{"uri": "fd:state"}},
	})
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = from.Close() })
	defer stop()
	state, err := io.ReadAll(io.LimitReader(from, mostState+1))
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fmt.Errorf("read the machine's state: %w", err)
	case len(state) > mostState:
		return nil, fmt.Errorf("the machine's state has more than %d bytes", mostState)
	}
	select {
	case err := <-r.saved:
		return state, err
	case <-m.Done():
		return nil, m.Err()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// sweepTemplates removes those that were not used for long, and what was cut short. The folder's lock is held.
func sweepTemplates(k *host.Kernel, folder cache.Folder) error {
	recent, err := k.ByTime(folder.Path("template-*"))
	if err != nil {
		return err
	}
	folder.Sweep("template-*", recent[max(0, len(recent)-templatesKept):]...)
	return nil
}
