package badinput

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// refused ends the daemon, spoils something, and compares what a daemon that is started then says before it ends. After
// it is put right, the next one must find all as it was.
func (w *world) refused(t *testing.T, spoil func() (repair func()), want string) {
	t.Helper()
	before := w.state()
	must(t, w.Stop())
	repair := spoil()
	err := w.Start()
	if err == nil {
		t.Error("the daemon serves")
		must(t, w.Stop())
	} else if _, said, _ := strings.Cut(w.plain(err.Error()), "taproomd: "); said != want {
		t.Errorf("got  %s\nwant %s\n%q", said, want, said)
	}
	repair()
	must(t, w.Start())
	w.c = w.Client()
	w.unchanged(t, before)
}

func TestSettings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, c := range []struct{ name, toml, want string }{
		{"no TOML", "uid_first: 7\n", "ROOT/etc/taproom/taproomd.toml: line 1: expected '=' after key"},
		{"binary", "\x00\x01\x02", "ROOT/etc/taproom/taproomd.toml: line 1: invalid character at start of key: U+0000"},
		{"unknown setting", "emulater = '/usr/bin/qemu'\nuid_frist = 3\n", "ROOT/etc/taproom/taproomd.toml: there are no settings emulater (line 1), uid_frist (line 2); there are group, emulator, uid_first, uid_count, vnc_port_first, vnc_port_last, qemu_ready_seconds, ovs_socket, ovs_timeout_seconds, heal_links, heal_firewall, mac_filter, firewall_backend, nft_owned_tables, system_bus, save_image_format, dump_image_format, max_clients, max_user_clients, message_memory_mib, reply_memory_mib"},
		{"wrong kind", "uid_first = 'many'\n", "ROOT/etc/taproom/taproomd.toml: line 1: uid_first has a value of a wrong kind"},
		{"root", "uid_first = 0\n", "ROOT/etc/taproom/taproomd.toml: uid_first and uid_count: 0 and 65536 are no range of users without root"},
		{"no users", "uid_first = 70000\nuid_count = 0\n", "ROOT/etc/taproom/taproomd.toml: uid_first and uid_count: 70000 and 0 are no range of users without root"},
		{"users beyond all", "uid_first = 4294967290\nuid_count = 100\n", "ROOT/etc/taproom/taproomd.toml: uid_first and uid_count: 4294967290 and 100 are no range of users without root"},
		{"overflow", "uid_first = 9000000000000000000\nuid_count = 9000000000000000000\n", "ROOT/etc/taproom/taproomd.toml: uid_first and uid_count: 9000000000000000000 and 9000000000000000000 are no range of users without root"},
		{"none for guests", "uid_count = 3\n", "ROOT/etc/taproom/taproomd.toml: uid_count: 3 users leave none for a guest; 3 are the daemon's own"},
		{"negative", "uid_first = 70000\nuid_count = -4\n", "ROOT/etc/taproom/taproomd.toml: uid_first and uid_count: 70000 and -4 are no range of users without root"},
		{"no such back end", "firewall_backend = 'ebtables'\n", "ROOT/etc/taproom/taproomd.toml: firewall_backend: \"ebtables\" is none of auto, nftables, iptables"},
		{"ports backwards", "vnc_port_first = 6000\nvnc_port_last = 5950\n", "ROOT/etc/taproom/taproomd.toml: vnc_port_first and vnc_port_last: 6000 to 5950 is no range of ports from 5900 up"},
		{"ports too low", "vnc_port_first = 80\n", "ROOT/etc/taproom/taproomd.toml: vnc_port_first and vnc_port_last: 80 to 65535 is no range of ports from 5900 up"},
		{"port too high", "vnc_port_last = 70000\n", "ROOT/etc/taproom/taproomd.toml: vnc_port_first and vnc_port_last: 5900 to 70000 is no range of ports from 5900 up"},
		{"no time", "qemu_ready_seconds = 0\n", "ROOT/etc/taproom/taproomd.toml: qemu_ready_seconds: 0 is not between 1 and 3600"},
		{"unknown image format", "save_image_format = 'lzop'\n", "ROOT/etc/taproom/taproomd.toml: save_image_format: images cannot be made in the format 'lzop'; there are raw, gzip, xz, zstd"},
		{"unknown dump format", "dump_image_format = 'elf'\n", "ROOT/etc/taproom/taproomd.toml: dump_image_format: images cannot be made in the format 'elf'; there are raw, gzip, xz, zstd"},
		{"too few clients", "max_clients = 5\n", "ROOT/etc/taproom/taproomd.toml: max_clients: 5 is not between 10 and 1000000"},
		{"no clients of a user", "max_user_clients = 0\n", "ROOT/etc/taproom/taproomd.toml: max_user_clients: 0 is not between 1 and 1000000"},
		{"no memory for messages", "message_memory_mib = 0\n", "ROOT/etc/taproom/taproomd.toml: message_memory_mib: 0 is not between 1 and 65536"},
		{"too much for replies", "reply_memory_mib = 100000\n", "ROOT/etc/taproom/taproomd.toml: reply_memory_mib: 100000 is not between 1 and 65536"},
		{"unknown group", "group = 'nobody-at-all'\n", "ROOT/etc/taproom/taproomd.toml: group: there is no group \"nobody-at-all\"; make it (groupadd --system nobody-at-all), or name another one"},
		{"relative emulator", "emulator = 'qemu-system-x86_64'\n", "ROOT/etc/taproom/taproomd.toml: emulator: \"qemu-system-x86_64\" is not an absolute path"},
		{"too large", "# " + strings.Repeat("x", 2<<20), "read ROOT/etc/taproom/taproomd.toml: larger than the limit (1048576 bytes)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.refused(t, func() func() {
				w.put("etc/taproom/taproomd.toml", c.toml)
				return func() { w.put("etc/taproom/taproomd.toml", settings) }
			}, c.want)
		})
	}
}

func TestSurroundingsThatKeepTheDaemonFromServing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := filepath.Join(w.Root, "run/libvirt")
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T) func()
		want  string
	}{
		{"settings are a folder", func(t *testing.T) func() {
			path := filepath.Join(w.Root, "etc/taproom/taproomd.toml")
			must(t, os.Rename(path, path+".away"))
			must(t, os.Mkdir(path, 0o755))
			return func() { must(t, os.Remove(path)); must(t, os.Rename(path+".away", path)) }
		}, "read ROOT/etc/taproom/taproomd.toml: is a directory"},
		{"somebody serves libvirt-sock", func(t *testing.T) func() {
			l, err := net.Listen("unix", filepath.Join(run, "libvirt-sock"))
			must(t, err)
			return func() { must(t, l.Close()) }
		}, "listen on ROOT/run/libvirt/libvirt-sock: another process serves it: badinput.test, process PID; stop it, or give this daemon a --root of its own"},
		{"somebody serves virtnetworkd-sock", func(t *testing.T) func() {
			l, err := net.Listen("unix", filepath.Join(run, "virtnetworkd-sock"))
			must(t, err)
			return func() { must(t, l.Close()) }
		}, "listen on ROOT/run/libvirt/virtnetworkd-sock: another process serves it: badinput.test, process PID; stop it, or give this daemon a --root of its own"},
		{"a daemon is just ending", func(t *testing.T) func() {
			f, err := os.OpenFile(filepath.Join(w.Root, "run/taproom/lock"), os.O_RDWR, 0)
			must(t, err) // the one that ended leaves the file, and not the lock
			must(t, unix.FcntlFlock(f.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK}))
			return func() { must(t, f.Close()) }
		}, "ROOT/run/taproom/lock is held by process PID, a daemon that is just starting or ending; start this one when that has ended"},
		{"a file lies where a socket should", func(t *testing.T) func() {
			path := filepath.Join(run, "virtqemud-sock")
			must(t, os.WriteFile(path, nil, 0o644))
			return func() { must(t, os.Remove(path)) }
		}, "listen on ROOT/run/libvirt/virtqemud-sock: something that is not a socket is there; move it away"},
		{"a file lies where the state should", func(t *testing.T) func() {
			path := filepath.Join(w.Root, "var/lib/taproom/domains")
			must(t, os.Rename(path, path+".away"))
			must(t, os.WriteFile(path, nil, 0o644))
			return func() { must(t, os.Remove(path)); must(t, os.Rename(path+".away", path)) }
		}, "take over what is there: make the directory ROOT/var/lib/taproom/domains: something else is there; move it away: not a directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.refused(t, func() func() { return c.spoil(t) }, c.want)
		})
	}
}

func TestASecondDaemonBelowTheSameRootIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.state()
	second := *w.Daemon
	err := second.Start()
	if err == nil {
		t.Fatal("it serves")
	}
	_, said, _ := strings.Cut(w.plain(err.Error()), "taproomd: ")
	if want := "listen on ROOT/run/taproom/taproom.sock: another process serves it: exe, process PID; stop it, or give this daemon a --root of its own"; said != want {
		t.Errorf("got  %s\nwant %s\n%q", said, want, said)
	}
	w.unchanged(t, before)
	must(t, unix.Kill(w.PID(), 0))
}
