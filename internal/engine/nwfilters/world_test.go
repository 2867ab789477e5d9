package nwfilters

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"taproom/internal/engine/store"
	"taproom/internal/host"
	"taproom/internal/host/hosttest"
	"taproom/internal/network/nwfilter"
	"taproom/internal/network/nwfilter/learn"
	"taproom/internal/spec"
)

func TestMain(m *testing.M) { hosttest.Main(m) }

// kernel is a back end in memory. It outlives the daemons of a test, as the real one does.
type kernel struct {
	ports   map[string]nwfilter.Attached
	applies []string // what each transaction was about
	opens   int
	// broken has the next transactions fail: those that say so take effect all the same.
	broken []fault
}

type fault struct{ took bool }

var errBroken = errors.New("the kernel has no room")

func (k *kernel) Apply(_ context.Context, changes []nwfilter.Port, gone []string) error {
	var about []string
	for _, p := range changes {
		about = append(about, "+"+p.Name)
	}
	for _, name := range gone {
		about = append(about, "-"+name)
	}
	k.applies = append(k.applies, strings.Join(about, " "))
	took, err := true, error(nil)
	if len(k.broken) > 0 {
		took, err = k.broken[0].took, errBroken
		k.broken = k.broken[1:]
	}
	if took {
		for _, p := range changes {
			k.ports[p.Name] = nwfilter.Attached{Key: p.Program.Key, Hash: p.Values.Hash()}
		}
		for _, name := range gone {
			delete(k.ports, name)
		}
	}
	return err
}

func (k *kernel) Observe(context.Context) (map[string]nwfilter.Attached, error) { return k.ports, nil }

func (k *kernel) Counters(context.Context) ([]nwfilter.Counter, error) { return nil, nil }

// since are the transactions after the first n.
func (k *kernel) since(n int) string { return strings.Join(k.applies[n:], "; ") }

// world is a host on which daemons come and go.
type world struct {
	t        *testing.T
	dir      string
	kernel   *kernel
	problems []string
	ears     *ears
	around   Around // of links on a bridge
	*Filters
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), ears: &ears{}, kernel: &kernel{ports: map[string]nwfilter.Attached{}}}
	w.daemon(nil)
	return w
}

// daemon has another daemon in the place of the one before, and guests that run.
func (w *world) daemon(guests []Binding) {
	w.t.Helper()
	k := host.New(host.Options{})
	w.t.Cleanup(k.Close)
	f, err := Open(Config{
		Kernel: k, Log: slog.New(slog.DiscardHandler), Definitions: filepath.Join(w.dir, "defs"), Bindings: filepath.Join(w.dir, "bindings"),
		Open: func(context.Context) (nwfilter.Backend, error) {
			w.kernel.opens++
			return w.kernel, nil
		},
		Shipped: shipped(w.t), Context: w.t.Context(), Learned: filepath.Join(w.dir, "learned"),
		Learn: func(changed func([]learn.Change)) (Learner, error) {
			w.ears = &ears{watched: map[string]learn.Port{}, changed: changed}
			return w.ears, nil
		},
		Around: func(b Binding) (Around, error) {
			if b.Bridge == "" {
				return Around{}, nil
			}
			return w.around, nil
		},
		Damaged:      func(d []*store.Damaged) { w.problems = append(w.problems, fmt.Sprint(d)) },
		Problem:      func(what string) { w.problems = append(w.problems, what) },
		DocumentFits: func([]byte) error { return nil },
	})
	if err != nil {
		w.t.Fatal(err)
	}
	if err := f.Restore(w.t.Context(), guests, func(port string) bool { return strings.HasPrefix(port, "orphan") }); err != nil {
		w.t.Fatal(err)
	}
	w.Filters = f
}

// shipped is a set of filters that come with taproom.
func shipped(t *testing.T) nwfilter.Set {
	t.Helper()
	set := nwfilter.Set{}
	for _, xml := range []string{
		"<filter name='no-ip-spoofing' chain='ipv4' priority='-710'><uuid>11111111-2222-3333-4444-00000000aaab</uuid><rule action='return' direction='out' priority='100'><ip srcipaddr='$IP'/></rule><rule action='drop' direction='out'/></filter>",
		"<filter name='clean-traffic' chain='root'><uuid>11111111-2222-3333-4444-00000000aaac</uuid><filterref filter='no-ip-spoofing'/></filter>",
	} {
		doc, err := spec.ParseFilter([]byte(xml))
		if err != nil {
			t.Fatal(err)
		}
		set[doc.Name] = doc
	}
	return set
}

func (w *world) define(xml string) error {
	_, err := w.DefineNWFilter(w.t.Context(), xml, 0)
	return err
}

func (w *world) mustDefine(xml string) {
	w.t.Helper()
	if err := w.define(xml); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) attach(all ...Binding) {
	w.t.Helper()
	if err := w.Attach(w.t.Context(), all); err != nil {
		w.t.Fatal(err)
	}
}

// attached are the links that the back end filters.
func (w *world) attached() string {
	return strings.Join(slices.Sorted(maps.Keys(w.kernel.ports)), " ")
}

// nic is the NIC of a guest on a link.
func nic(port, filter string, params ...string) Binding {
	b := Binding{Use: Use{Filter: filter}, Port: port, Guest: "web", Owner: spec.UUID{15: 1}, MAC: "52:54:00:00:00:01"}
	for _, p := range params {
		name, value, _ := strings.Cut(p, "=")
		b.Params = append(b.Params, Param{name, value})
	}
	return b
}

// filter is a document with a port that nobody may reach, and what else it says.
func filter(name string, port int, rest string) string {
	return fmt.Sprintf("<filter name='%s' chain='root'><rule action='drop' direction='in' priority='500'><tcp dstportstart='%d'/></rule>%s</filter>", name, port, rest)
}

func refers(to string) string { return "<filterref filter='" + to + "'/>" }

func complains(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, w := range words {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("the error is %v, want %q in it", err, w)
		}
	}
}
