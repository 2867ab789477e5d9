package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// libvirtSockets are the paths that libvirt's clients try.
func libvirtSockets(dir string) []string {
	names := []string{
		"libvirt-sock", "libvirt-sock-ro", "virtqemud-sock", "virtqemud-sock-ro", "virtnetworkd-sock", "virtnetworkd-sock-ro",
		"virtproxyd-sock", "virtproxyd-sock-ro", "virtstoraged-sock", "virtnodedevd-sock", "virtnwfilterd-sock",
		"virtinterfaced-sock", "virtsecretd-sock",
	}
	for i, n := range names {
		names[i] = path.Join(dir, n)
	}
	return names
}

// checkSockets says who serves the sockets that libvirt's clients use. A path nobody has is fine and not mentioned, unless
// there is nothing else to say.
func checkSockets(ctx context.Context, e Env) []Finding {
	dir := "/run/libvirt"
	if e.Session != nil {
		dir = e.Session.Run
	}
	var out []Finding
	for _, p := range libvirtSockets(dir) {
		if f, there := socket(ctx, e, p); there {
			out = append(out, f)
		}
	}
	if len(out) == 0 {
		out = append(out, Finding{"sockets", OK, "nobody serves libvirt's sockets in " + dir, ""})
	}
	return out
}

func socket(ctx context.Context, e Env, p string) (f Finding, there bool) {
	f = Finding{Name: "socket." + path.Base(p)}
	conn, err := e.Kernel.DialUnix(ctx, e.path(p))
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR):
		return f, false
	case errors.Is(err, unix.ECONNREFUSED):
		f.Status, f.Evidence = Warning, p+" exists and nobody listens on it: a daemon died"
		f.Remedy = "rm " + p + "; taproomd does so by itself when it starts"
		return f, true
	case err != nil:
		f.Status, f.Evidence = Unknown, err.Error()
		return f, true
	}
	defer conn.Close()
	cred, err := e.Kernel.PeerCredentials(conn)
	if err != nil {
		f.Status, f.Evidence = Unknown, fmt.Sprintf("%s: who listens: %v", p, err)
		return f, true
	}
	name, command := process(e, int(cred.Pid))
	f.Evidence = fmt.Sprintf("%s is served by pid %d, %s", p, cred.Pid, command)
	switch {
	case name == "taproomd":
		f.Status = OK
	case cred.Pid == 1, name == "systemd": // a socket unit; a user has a service manager too
		f.Status = Problem
		unit := strings.TrimSuffix(strings.TrimSuffix(path.Base(p), "-ro"), "-sock")
		if unit == "libvirt" {
			unit = "libvirtd"
		}
		f.Remedy = e.systemctl() + fmt.Sprintf(" disable --now %[1]s.socket %[1]s-ro.socket %[1]s-admin.socket %[1]s.service; guests that it runs must be shut down first", unit)
	default:
		f.Status = Problem
		f.Remedy = fmt.Sprintf("stop %s (%s disable --now %s), or run taproomd with --root in a folder of its own", name, e.systemctl(), name)
	}
	return f, true
}

// systemctl is how one's own services are stopped.
func (e Env) systemctl() string {
	if e.Session != nil {
		return "systemctl --user"
	}
	return "systemctl"
}

// process names a process: what /proc calls it, and its command line.
func process(e Env, pid int) (name, command string) {
	e.Kernel.Step("doctor read process")
	comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return "somebody", "which cannot be seen from here"
	}
	name = strings.TrimSpace(string(comm))
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || len(line) == 0 {
		return name, name
	}
	return name, strings.TrimSpace(string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
}
