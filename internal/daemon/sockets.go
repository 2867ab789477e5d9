package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"taproom/internal/engine"
	"taproom/internal/host"
)

// socketNames are the names libvirt's clients look for: the one of the monolithic daemon and those of the modular ones.
// A name that ends in -ro is served read-only.
var socketNames = []string{
	"libvirt-sock", "libvirt-sock-ro",
	"virtqemud-sock", "virtqemud-sock-ro",
	"virtnetworkd-sock", "virtnetworkd-sock-ro",
	"virtnwfilterd-sock", "virtnwfilterd-sock-ro",
	"virtstoraged-sock", "virtstoraged-sock-ro",
	"virtinterfaced-sock", "virtinterfaced-sock-ro",
	"virtnodedevd-sock", "virtnodedevd-sock-ro",
	"virtsecretd-sock", "virtsecretd-sock-ro",
}

// listener is one socket and what may be done through it.
type listener struct {
	net.Listener
	path     string
	readOnly bool
}

// listen opens every socket of the daemon, or none. Gid may open the read-write ones beside root; -1 is nobody.
func listen(ctx context.Context, k *host.Kernel, p engine.Paths, own *engine.Session, gid int) (ls []listener, err error) {
	defer func() {
		if err != nil {
			closeAll(k, ls)
			ls = nil
		}
	}()
	if err := k.Mkdir(p.LibvirtRun, dirMode(own)); err != nil {
		return nil, err
	}
	paths := []string{p.ControlSocket()}
	for _, name := range socketNames {
		if own != nil && strings.HasSuffix(name, "-ro") {
			continue // a session has one user, and its clients look for no other sockets
		}
		paths = append(paths, filepath.Join(p.LibvirtRun, name))
	}
	for _, path := range paths {
		l := listener{path: path, readOnly: strings.HasSuffix(path, "-ro")}
		if l.Listener, err = open(ctx, k, path, l.readOnly, gid); err != nil {
			return ls, err
		}
		ls = append(ls, l)
	}
	return ls, nil
}

func open(ctx context.Context, k *host.Kernel, path string, readOnly bool, gid int) (net.Listener, error) {
	mode := os.FileMode(0o600)
	switch {
	case readOnly:
		mode = 0o666
	case gid >= 0:
		mode = 0o660
	}
	f, err := k.ListenUnix(path, mode)
	if errors.Is(err, host.ErrInUse) {
		return nil, inUse(ctx, k, path)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if gid >= 0 && !readOnly {
		if err := k.Chown(path, -1, gid); err != nil {
			return nil, err
		}
	}
	return net.FileListener(f)
}

// inUse is the error of a socket that somebody serves.
func inUse(ctx context.Context, k *host.Kernel, path string) error {
	return fmt.Errorf("listen on %s: %w: %s", path, host.ErrInUse, holder(ctx, k, path))
}

// whoHas says of a lock that another daemon holds whether that one serves. One that ends has closed its sockets before it
// lets go of its guests and of the lock.
func whoHas(ctx context.Context, k *host.Kernel, own *engine.Session, control string, err error) error {
	var held *host.Locked
	if !errors.As(err, &held) {
		return err
	}
	if c, derr := k.DialUnix(ctx, control); derr == nil {
		c.Close()
		return inUse(ctx, k, control)
	}
	state := ", a daemon that is just starting or ending"
	if own != nil {
		state += ", or one that serves this user from another XDG_RUNTIME_DIR"
	}
	return fmt.Errorf("%w%s; start this one when that has ended", held, state)
}

// holder says who serves a socket, and how to get it.
func holder(ctx context.Context, k *host.Kernel, path string) string {
	const remedy = "; stop it, or give this daemon a --root of its own"
	c, err := k.DialUnix(ctx, path)
	if err != nil {
		return "nobody knows who" + remedy
	}
	defer c.Close()
	cred, err := k.PeerCredentials(c)
	if err != nil {
		return "nobody knows who" + remedy
	}
	if cred.Pid == 1 {
		unit := strings.TrimSuffix(filepath.Base(path), "-sock")
		return fmt.Sprintf("systemd listens there for another daemon; systemctl disable --now %s.socket (or libvirtd.socket), or give this daemon a --root of its own", strings.Replace(unit, "libvirt", "libvirtd", 1))
	}
	name, err := k.ReadFile(fmt.Sprintf("/proc/%d/comm", cred.Pid))
	if err != nil {
		name = []byte("a program")
	}
	return fmt.Sprintf("%s, process %d", strings.TrimSpace(string(name)), cred.Pid) + remedy
}

func closeAll(k *host.Kernel, ls []listener) {
	for _, l := range ls {
		l.Close()
		_ = k.Remove(l.path) // the next start replaces what stays
	}
}
