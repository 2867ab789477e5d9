package badinput

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"taproom/internal/api/remote"
	"taproom/internal/api/virterr"
	"taproom/internal/qemu/emutest"
)

// restart ends the daemon, spoils something and starts it again; it returns what it found wrong.
func (w *world) restart(t *testing.T, spoil func()) []string {
	t.Helper()
	must(t, w.Stop())
	spoil()
	must(t, w.Start())
	w.c = w.Client()
	s, err := w.c.Status(t.Context())
	must(t, err)
	for i := range s.Problems {
		s.Problems[i] = w.plain(s.Problems[i])
	}
	slices.Sort(s.Problems)
	return s.Problems
}

// stateFile is the file of an object in a directory of state.
func (w *world) stateFile(dir string, uuid [16]byte) string {
	return filepath.Join(w.Root, dir, uuidText(uuid)+".state")
}

// spoiled changes the content of a file.
func spoiled(t *testing.T, path string, change func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, change(b), 0o600))
}

func cut(b []byte) []byte { return b[:len(b)/2] }

func flip(b []byte) []byte {
	b[len(b)-7] ^= 4
	return b
}

func TestDamagedDefinitionsAreSetAsideAndReported(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	paths := map[string]string{}
	for _, name := range []string{"cut", "flipped", "empty", "zeroed", "strange"} {
		d, err := w.c.DefineDomain(t.Context(), guest(name, ""))
		must(t, err)
		paths[name] = w.stateFile("var/lib/taproom/domains", d.UUID)
	}
	var n remote.Network
	must(t, w.call(remote.ProcNetworkDefineXML, &remote.String{S: network("lost", "virbr-lost", "192.168.96")}, &n))
	paths["lost"] = w.stateFile("var/lib/taproom/networks", n.UUID)
	got := w.restart(t, func() {
		spoiled(t, paths["cut"], cut)
		spoiled(t, paths["lost"], flip)
		spoiled(t, paths["flipped"], flip)
		spoiled(t, paths["empty"], func([]byte) []byte { return nil })
		spoiled(t, paths["zeroed"], func(b []byte) []byte { return make([]byte, len(b)) })
		spoiled(t, paths["strange"], func(b []byte) []byte {
			return bytes.Replace(b, []byte("taproom-state 1"), []byte("taproom-state 9"), 1)
		})
	})
	damaged := func(kind, name, reason string) string {
		if name != "" {
			name = fmt.Sprintf(" of %q", name)
		}
		return fmt.Sprintf("state file ROOT/var/lib/taproom/%ss/UUID.state%s is damaged (%s); it was moved to ROOT/var/lib/taproom/%ss/UUID.state.damaged: restore it from a backup, or define the %s again",
			kind, name, reason, kind, kind)
	}
	want := []string{
		damaged("domain", "", "it does not begin as a state file"),
		damaged("domain", "", "it does not begin as a state file"),
		damaged("domain", "cut", "its checksum does not match"),
		damaged("domain", "flipped", "its checksum does not match"),
		damaged("domain", "strange", "it does not begin as a state file"),
		damaged("network", "lost", "its checksum does not match"),
	}
	slices.Sort(want)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("problems (-want +got):\n%s", d)
	}
	for name, path := range paths {
		if _, err := os.Stat(path + ".damaged"); err != nil {
			t.Errorf("%s is not kept: %v", name, err)
		}
		must(t, os.Remove(path+".damaged"))
	}
	s, err := w.c.Status(t.Context())
	if err != nil || len(s.Domains) != 1 || s.Domains[0].Name != "well" || s.Domains[0].State != "running" || len(s.Networks) != 1 {
		t.Errorf("what is left: %+v, %v", s, err)
	}
	must(t, w.start(guest("cut", ""))) // its name is free
}

func TestWhatAdministratorsLeaveAmongDefinitionsIsReportedAndLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d, err := w.c.DefineDomain(t.Context(), guest("twin", ""))
	must(t, err)
	path := w.stateFile("var/lib/taproom/domains", d.UUID)
	dir := filepath.Dir(path)
	copied, folder, note := filepath.Join(dir, "11111111-2222-3333-4444-555555555555.state"), filepath.Join(dir, "folder.state"), filepath.Join(dir, "README")
	got := w.restart(t, func() {
		b, err := os.ReadFile(path)
		must(t, err)
		must(t, os.WriteFile(copied, b, 0o600))
		must(t, os.Mkdir(folder, 0o700))
		must(t, os.WriteFile(note, nil, 0o600))
	})
	want := []string{
		"state file ROOT/var/lib/taproom/domains/UUID.state holds domain 'twin' with the UUID UUID, which is not what it is called; it is left alone",
		"state file ROOT/var/lib/taproom/domains/folder.state is damaged (it cannot be read: is a directory); it was moved to ROOT/var/lib/taproom/domains/folder.state.damaged: restore it from a backup, or define the domain again",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("problems (-want +got):\n%s", d)
	}
	for _, path := range []string{copied, folder + ".damaged", note} {
		must(t, os.Remove(path))
	}
	must(t, w.c.UndefineDomain(t.Context(), d, 0))
}

func TestAGuestWhoseRecordIsDamagedRunsOnAndCanOnlyBeEnded(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(w *world, d remote.Domain, pid int) error{
		"by destroy": func(w *world, d remote.Domain, _ int) error { return w.c.DestroyDomain(w.t.Context(), d) },
		"by itself":  func(_ *world, _ remote.Domain, pid int) error { return unix.Kill(pid, unix.SIGTERM) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			d, err := w.c.DefineDomain(t.Context(), guest("broken", nic("quiet")+vnc))
			must(t, err)
			before := w.state()
			d, err = w.c.StartDomain(t.Context(), d, 0)
			must(t, err)
			pid, links := w.guestPID(t, "broken"), w.links()
			record := w.stateFile("run/taproom/records", d.UUID)
			got := w.restart(t, func() { spoiled(t, record, flip) })
			runsOn := "domain 'broken' runs on as process PID, but what was written down of it is damaged or gone, so it cannot be controlled; shut it down from inside, or end it with `virsh destroy broken`"
			want := []string{runsOn, "state file ROOT/run/taproom/records/UUID.state of \"broken\" is damaged (its checksum does not match); it was moved to ROOT/run/taproom/records/UUID.state.damaged"}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("problems (-want +got):\n%s", d)
			}
			if d := cmp.Diff(links, w.links()); d != "" {
				t.Errorf("links (-before +after):\n%s", d)
			}
			w.refuse(t, bad{"start", func() error { _, err := w.c.StartDomain(t.Context(), d, 0); return err }, virterr.OperationInvalid, "Requested operation is not valid: " + runsOn})
			must(t, end(w, d, pid))
			emutest.Wait(t, "its problem is solved", nil, func() bool {
				s, err := w.c.Status(t.Context())
				return err == nil && len(s.Problems) == 1
			})
			must(t, os.Remove(record+".damaged"))
			w.unchanged(t, before)
			_, err = w.c.StartDomain(t.Context(), d, 0)
			must(t, err)
			must(t, w.c.DestroyDomain(t.Context(), d))
			must(t, w.c.UndefineDomain(t.Context(), d, 0))
		})
	}
}

func TestAProcessNumberThatIsUsedAgainIsNotTheGuest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must(t, w.create(guest("broken", nic("quiet")+vnc)))
	d, err := w.c.Domain(t.Context(), "broken")
	must(t, err)
	pid := w.guestPID(t, "broken")
	got := w.restart(t, func() {
		must(t, unix.Kill(pid, unix.SIGKILL))
		emutest.Wait(t, "it is gone", nil, func() bool { return unix.Kill(pid, 0) != nil })
		// our own number, with a start that is not ours
		must(t, os.WriteFile(w.Paths().Guest(uuidText(d.UUID))+"/pid", fmt.Appendf(nil, `{"pid":%d,"start":12345}`+"\n", os.Getpid()), 0o600))
	})
	if len(got) > 0 {
		t.Errorf("problems: %q", got)
	}
	s, err := w.c.Status(t.Context())
	if err != nil || len(s.Domains) != 1 || s.Domains[0].Name != "well" {
		t.Errorf("what is left: %+v, %v", s, err)
	}
	if left := strings.Join(slices.Concat(w.links(), w.cgroups()), "\n"); strings.Contains(left, uuidText(d.UUID)) {
		t.Errorf("left of it:\n%s", left)
	}
}

func TestADamagedRecordOfANetworkLeavesItAsItIsDefined(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	quiet, err := w.c.Network(t.Context(), "quiet")
	must(t, err)
	before := w.state()
	record := w.stateFile("run/taproom/networks", quiet.UUID)
	got := w.restart(t, func() { spoiled(t, record, cut) })
	want := []string{"state file ROOT/run/taproom/networks/UUID.state of \"quiet\" is damaged (its checksum does not match); it was moved to ROOT/run/taproom/networks/UUID.state.damaged; where the network is defined, it goes on as it is defined"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("problems (-want +got):\n%s", d)
	}
	must(t, os.Remove(record+".damaged"))
	w.unchanged(t, before)
}
