package badinput

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"taproom/internal/api/remote"
	"taproom/internal/engine"
	"taproom/internal/host"
	"taproom/internal/qemu/emutest"
)

// state is everything there is in a world, as text: files, links, rules, cgroups with their processes, and what the
// daemon tells of its guests and networks.
func (w *world) state() string {
	w.t.Helper()
	files := w.files()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	late, cancel := emutest.Context(context.Background())
	defer cancel()
	for late.Err() == nil && slices.ContainsFunc(files, halfWritten) {
		<-again.C
		files = w.files()
	}
	return strings.Join(slices.Concat(files, w.links(), w.rules(), w.cgroups(), w.objects()), "\n")
}

// halfWritten says of a file that the daemon is just writing it, or has left it so.
func halfWritten(file string) bool { return strings.Contains(file, "taproom-tmp") }

// files are those of the root, with their content where it is the daemon's alone. Logs and leases may grow, and the files
// of guests' names follow when the daemon comes to it.
func (w *world) files() []string {
	var out []string
	w.NS.Do(func() {
		for _, dir := range []string{"etc", "var", "run", "images"} {
			_ = filepath.WalkDir(filepath.Join(w.Root, dir), func(path string, e fs.DirEntry, err error) error {
				if err != nil {
					return nil // it went meanwhile: the next look sees it
				}
				name := strings.TrimPrefix(path, w.Root)
				if strings.HasPrefix(name, "/var/lib/taproom/log/") || strings.HasPrefix(name, "/var/lib/libvirt") {
					return nil
				}
				line := fmt.Sprintf("file %s %v", name, e.Type())
				if strings.HasSuffix(name, ".state") {
					b, _ := os.ReadFile(path)
					line += fmt.Sprintf(" %x", sha256.Sum256(b))
				}
				out = append(out, line)
				return nil
			})
		}
	})
	return out
}

func (w *world) links() []string {
	links, err := w.NS.Kernel().Links()
	if err != nil {
		w.t.Error(err)
	}
	var out []string
	for _, l := range links {
		out = append(out, fmt.Sprintf("link %d %s %s group %d alias %q mac %s mtu %d master %d up %v",
			l.Index, l.Name, l.Kind, l.Group, l.Alias, l.MAC, l.MTU, l.Master, l.Up))
	}
	slices.Sort(out)
	return append(out, strings.Split(w.NS.Run("ip", "-o", "address", "show"), "\n")...)
}

// counted is what traffic changes, and makes.
var counted = regexp.MustCompile(`\t*elements = \{[^{}]* counter[^{}]*\}\n|counter packets \d+ bytes \d+| expires \S+`)

func (w *world) rules() []string {
	return strings.Split(counted.ReplaceAllString(w.NS.Run("nft", "list", "ruleset"), ""), "\n")
}

// cgroups are the daemon's, with the processes in them.
func (w *world) cgroups() []string {
	k := host.New(host.Options{})
	defer k.Close()
	root, err := k.CgroupRoot()
	if err != nil {
		w.t.Error(err)
	}
	root = filepath.Join(root, engine.NewIdentity(w.Root).Slice)
	var out []string
	_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			b, _ := os.ReadFile(filepath.Join(path, "cgroup.procs"))
			out = append(out, fmt.Sprintf("cgroup %s %q", strings.TrimPrefix(path, root), b))
		}
		return nil
	})
	return out
}

// objects are the guests and networks as the daemon tells.
func (w *world) objects() []string {
	ctx := w.t.Context()
	s, err := w.c.Status(ctx)
	if err != nil {
		w.t.Errorf("status: %v", err)
	}
	s.Problems = nil // the tests that make some look at them
	for i := range s.Domains {
		s.Domains[i].Addresses = nil // its firmware asks for one when it likes
	}
	for i := range s.Networks {
		s.Networks[i].Leases = 0
	}
	b, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		w.t.Error(err)
	}
	out := strings.Split(string(b), "\n")
	domains, err := w.c.Domains(ctx, 0)
	if err != nil {
		w.t.Error(err)
	}
	for _, d := range domains {
		doc, err := w.c.DomainXML(ctx, d, 0)
		if err != nil {
			w.t.Error(err)
		}
		out = append(out, strings.Split(doc, "\n")...)
	}
	var networks remote.Networks
	if err := w.call(remote.ProcConnectListAllNetworks, &remote.NeedFlags{Need: 1}, &networks); err != nil {
		w.t.Error(err)
	}
	for _, n := range networks.Networks {
		var doc remote.String
		if err := w.call(remote.ProcNetworkGetXMLDesc, &remote.NetworkFlags{Network: n}, &doc); err != nil {
			w.t.Error(err)
		}
		out = append(out, strings.Split(doc.S, "\n")...)
	}
	return out
}
