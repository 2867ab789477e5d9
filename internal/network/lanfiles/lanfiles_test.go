package lanfiles_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"taproom/internal/network/lanfiles"
)

var eth0 = lanfiles.Move{NIC: "eth0", Index: 2, Bridge: "br0", MAC: "02:00:5e:00:00:01", MTU: 9000}

// wanted is the section of a case that holds what comes out of it.
const wanted = "want"

// root is what a case has below the root of its host.
func root(a *txtar.Archive) fstest.MapFS {
	fsys := fstest.MapFS{}
	for _, f := range a.Files {
		if f.Name != wanted {
			mode := fs.FileMode(0o644)
			if strings.HasSuffix(f.Name, ".nmconnection") {
				mode = 0o600
			}
			fsys[f.Name] = &fstest.MapFile{Data: f.Data, Mode: mode}
		}
	}
	return fsys
}

func text(r lanfiles.Result, err error) string {
	out := "manager: " + r.Manager + "\n"
	if err != nil {
		return out + "error: " + err.Error() + "\n"
	}
	for _, n := range r.Notes {
		out += "note: " + n + "\n"
	}
	if r.Then != "" {
		out += "then: " + r.Then + "\n"
	}
	for _, c := range r.Changes {
		out += fmt.Sprintf("%s %s\n%s", c.Mode, c.Path, c.Diff())
	}
	return out
}

func cases(t *testing.T, each func(t *testing.T, path string, a *txtar.Archive)) {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no cases", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			each(t, path, a)
		})
	}
}

func TestWhatIsWrittenForEachManager(t *testing.T) {
	t.Parallel()
	cases(t, func(t *testing.T, path string, a *txtar.Archive) {
		got := text(lanfiles.Persist(root(a), eth0))
		last := &a.Files[len(a.Files)-1]
		if os.Getenv("TAPROOM_UPDATE") != "" {
			if last.Name != wanted {
				a.Files = append(a.Files, txtar.File{Name: wanted})
				last = &a.Files[len(a.Files)-1]
			}
			last.Data = []byte(got)
			if err := os.WriteFile(path, txtar.Format(a), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if d := cmp.Diff(string(last.Data), got); d != "" || last.Name != wanted {
			t.Errorf("(-want +got; TAPROOM_UPDATE=1 writes it):\n%s", d)
		}
	})
}

// TestTheManagersProgramsReadWhatIsWritten gives what is written to ifquery and nmcli, which say what they make of it.
func TestTheManagersProgramsReadWhatIsWritten(t *testing.T) {
	t.Parallel()
	cases(t, func(t *testing.T, _ string, a *txtar.Archive) {
		fsys := root(a)
		r, err := lanfiles.Persist(fsys, eth0)
		if err != nil || len(r.Changes) == 0 {
			return // nothing is written
		}
		dir := t.TempDir()
		for _, c := range r.Changes {
			fsys[c.Path] = &fstest.MapFile{Data: []byte(c.After), Mode: c.Mode}
		}
		if err := os.CopyFS(dir, fsys); err != nil {
			t.Fatal(err)
		}
		switch r.Manager {
		case lanfiles.Ifupdown:
			readByIfquery(t, dir)
		case lanfiles.NetworkManager:
			readByNmcli(t, r)
		}
	})
}

func readByIfquery(t *testing.T, dir string) {
	t.Helper()
	file := filepath.Join(dir, "etc/network/interfaces")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	here := strings.ReplaceAll(string(b), "/etc/network/", filepath.Join(dir, "etc/network")+"/")
	if err := os.WriteFile(file, []byte(here), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		out, err := exec.Command("ifquery", append([]string{"-i", file}, args...)...).CombinedOutput()
		if err != nil {
			t.Errorf("ifquery %q: %v: %s", args, err, out)
		}
		return string(out)
	}
	if got := run("br0"); !strings.Contains(got, "pre-up: ip link set dev eth0 master br0 up") {
		t.Errorf("ifquery says of br0:\n%s", got)
	}
	if got := run("--list"); !strings.Contains(got, "br0\n") || strings.Contains(got, "eth0\n") {
		t.Errorf("at boot are brought up:\n%s", got)
	}
}

func readByNmcli(t *testing.T, r lanfiles.Result) {
	t.Helper()
	for _, c := range r.Changes {
		nmcli := exec.Command("nmcli", "--offline", "connection", "modify", "connection.autoconnect-retries", "3")
		nmcli.Stdin = strings.NewReader(c.After)
		out, err := nmcli.CombinedOutput()
		if err != nil {
			t.Errorf("nmcli on %s: %v: %s", c.Path, err, out)
		}
		writes := func(line string) bool { return strings.Contains("\n"+string(out), "\n"+line+"\n") }
		for _, line := range strings.Split(c.After, "\n") {
			key, value, ok := strings.Cut(line, "=")
			if ok && line[0] != '#' && key != "autoconnect" && !writes(line) && slices.ContainsFunc(newer(key, value), func(l string) bool { return !writes(l) }) {
				t.Errorf("of %s nmcli leaves out %s; it writes\n%s", c.Path, line, out)
			}
		}
	}
}

// newer are the lines that nmcli 1.52 writes for a line that it read in the words of 1.42, which it takes.
func newer(key, value string) []string {
	switch key {
	case "master":
		return []string{"controller=" + value}
	case "slave-type":
		return []string{"port-type=" + value}
	case "address1":
		address, gateway, _ := strings.Cut(value, ",")
		return []string{"address1=" + address, "gateway=" + gateway}
	}
	return []string{key + "=" + value}
}

// FuzzPersist gives the readers what no administrator writes: they may refuse it, and a file that they change is the same but for
// what has the NIC's name.
func FuzzPersist(f *testing.F) {
	f.Add("auto eth0\niface eth0 inet dhcp\n", "[Match]\nName=eth0\n[Network]\nDHCP=yes\n", "[connection]\nuuid=u\n")
	f.Add("allow-hotplug eth0 \\\n eth1\niface eth0\\\n inet static\n\taddress 1.2.3.4/5", "[Network]\nDNS=a \\\n b", "[connection]\nautoconnect=false\n[ipv4]")
	f.Fuzz(func(t *testing.T, interfaces, network, profile string) {
		_, _ = lanfiles.Persist(fstest.MapFS{"etc/network/interfaces": {Data: []byte(interfaces)}}, eth0)
		_, _ = lanfiles.Persist(fstest.MapFS{
			"run/systemd/netif/links/2": {Data: []byte("NETWORK_FILE=/x.network")}, "x.network": {Data: []byte(network)},
		}, eth0)
		_, _ = lanfiles.Persist(fstest.MapFS{
			"usr/bin/nmcli": {}, "run/NetworkManager/devices/2": {Data: []byte("[device]\nconnection-uuid=u")},
			"etc/NetworkManager/system-connections/x": {Data: []byte(profile)},
		}, eth0)
		other := strings.ReplaceAll(interfaces, "eth0", "eth1")
		if r, err := lanfiles.Persist(fstest.MapFS{"etc/network/interfaces": {Data: []byte(other)}}, eth0); err != nil || len(r.Changes) > 0 {
			t.Errorf("another NIC's file changes: %v, %v", r, err)
		}
	})
}
