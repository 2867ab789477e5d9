package launch

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/appliance/chain"
	"taproom/internal/host"
)

// text is a plan as lines of QMP, with the names of files.
func (p diskPlan) text(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, s := range p.sets {
		for _, f := range s.files {
			fmt.Fprintf(&b, "add-fd %d %s\n", s.id, f.Name())
		}
	}
	for _, n := range append(p.nodes, p.device) {
		j, err := json.Marshal(n)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(j, '\n'))
	}
	return b.String()
}

func TestWhatQEMUIsToldOfADisk(t *testing.T) {
	t.Parallel()
	file := func(name string) *os.File {
		f, err := host.MemoryFile(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	raw := chain.Layer{Format: chain.Raw, File: file("raw"), Writable: file("raw-rw")}
	device := chain.Layer{Format: chain.Raw, Device: true, File: file("device"), Writable: file("device-rw")}
	top := chain.Layer{Format: chain.QCOW2, File: file("top"), Writable: file("top-rw")}
	base := chain.Layer{Format: chain.QCOW2, File: file("base")}
	outer := chain.Layer{Format: chain.QCOW2, File: file("outer"), Data: file("data"), Writable: file("outer-rw"), DataWritable: file("data-rw")}
	outerDevice := outer
	outerDevice.DataDevice = true
	overlay := file("overlay")
	for name, p := range map[string]diskPlan{
		"raw-discard":    planDisk(1, 10, Discard, chain.Chain{raw}, overlay),
		"raw-read-only":  planDisk(2, 10, ReadOnly, chain.Chain{raw}, nil),
		"device-write":   planDisk(3, 10, Write, chain.Chain{device}, nil),
		"chain-write":    planDisk(4, 20, Write, chain.Chain{top, base, raw}, nil),
		"chain-discard":  planDisk(5, 20, Discard, chain.Chain{top, base, raw}, overlay),
		"raw-scratch":    planDisk(6, 10, Scratch, chain.Chain{raw}, nil),
		"data-file":      planDisk(7, 10, Write, chain.Chain{outer}, nil),
		"data-device":    planDisk(9, 10, Write, chain.Chain{outerDevice}, nil),
		"data-file-read": planDisk(8, 10, ReadOnly, chain.Chain{outer}, nil),
	} {
		path := filepath.Join("testdata", "disk-"+name+".txt")
		got := p.text(t)
		if os.Getenv("TAPROOM_UPDATE") != "" {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), got); d != "" {
			t.Errorf("%s (-want +got; TAPROOM_UPDATE=1 writes it):\n%s", name, d)
		}
	}
}
