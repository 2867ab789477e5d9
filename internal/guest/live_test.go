package guest

import (
	"bytes"
	"errors"
	"io/fs"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/spec"
)

// The document of a running guest is libvirt's, except for what is libvirt's own: its cgroup partition, its folders, and
// the processor as QEMU expanded it.
func TestLiveShowsAliasesTerminalsAndPorts(t *testing.T) {
	t.Parallel()
	cases(t, "live", func(t *testing.T, _ string, files map[string][]byte) {
		d := parse(t, files["domain.xml"])
		if err := Complete(d, pcHost()); err != nil {
			t.Fatal(err)
		}
		before := string(d.Format())
		rt := testRuntime(d)
		rt.Displays[0].Port = 5900
		rt.NICs[1].Tap = ""
		live := Live(d, rt, LiveFacts{
			ID: 1, Label: "+0:+0",
			PTYs: map[string]string{"charserial0": "/dev/pts/0", "charchannel1": "/dev/pts/1", "charconsole1": "/dev/pts/2"},
		}, false)
		if diff := cmp.Diff(string(files["taproom.xml"]), string(live.Format())); diff != "" {
			t.Errorf("live document (-want +got):\n%s", diff)
		}
		if after := string(d.Format()); after != before {
			t.Errorf("Live changed the document it was given:\n%s", cmp.Diff(before, after))
		}
	})
}

func TestDefiningALiveDocumentGivesTheInactiveOne(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"define", "only", "live", "devices"} {
		cases(t, dir, func(t *testing.T, _ string, files map[string][]byte) {
			d := parse(t, files["domain.xml"])
			if err := Complete(d, pcHost()); err != nil {
				t.Fatal(err)
			}
			again := parse(t, d.Format())
			rt := testRuntime(d)
			for i := range rt.NICs { // a document's own name is the link's name
				if n := d.Devices.Interfaces[i]; n.Target != nil {
					rt.NICs[i].Tap = n.Target.Dev
				}
			}
			host := pcHost()
			host.ChannelDirs = []string{"/run/taproom/guests"}
			back := parse(t, Live(d, rt, LiveFacts{ID: 3, Label: "+7:+7", PortIDs: []string{"x"}, Bridges: []string{"virbr0"}, PTYs: map[string]string{"charserial0": "/dev/pts/9"}}, true).Format())
			for _, x := range []*spec.Domain{again, back} {
				if err := Complete(x, host); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(forgetful(again).Format()), string(forgetful(back).Format())); diff != "" {
				t.Errorf("inactive document after a define of the live one (-before +after):\n%s", diff)
			}
		})
	}
}

// forgetful drops what a live document shows for good: where a display was, and an empty end of a backing chain.
func forgetful(d *spec.Domain) *spec.Domain {
	d = d.Clone()
	for i := range d.Devices.Graphics {
		g := &d.Devices.Graphics[i]
		g.Port, g.Listen, g.Listens, g.WebSocket = "", "", nil, ""
	}
	for i := range d.Devices.Disks {
		k := &d.Devices.Disks[i]
		if k.BackingStore != nil && k.BackingStore.Type == "" {
			k.BackingStore = nil
		}
	}
	return d
}

func TestPasswordsAreShownOnlyWhereAskedFor(t *testing.T) {
	t.Parallel()
	d := &spec.Domain{Devices: &spec.Devices{Graphics: []spec.Graphics{{Type: "vnc", Passwd: "secret", PasswdValidTo: "2030-01-01T00:00:00"}}}}
	open, closed := Inactive(d, true).Format(), Inactive(d, false).Format()
	if !bytes.Contains(open, []byte("passwd='secret'")) {
		t.Errorf("secure document lacks the password:\n%s", open)
	}
	if bytes.Contains(closed, []byte("passwd")) || bytes.Contains(closed, []byte("secret")) {
		t.Errorf("document shows the password:\n%s", closed)
	}
	if d.Devices.Graphics[0].Passwd != "secret" {
		t.Errorf("the document itself lost its password")
	}
}

func TestANeedThatFailsNamesDevicePathAndRemedy(t *testing.T) {
	t.Parallel()
	err := &NeedError{Need: Need{Path: "/img/a.raw", Device: "disk vda"}, Err: syscall.ENOENT}
	if got, want := err.Error(), "disk vda: /img/a.raw: no such file or directory; create it, or correct the path in the document"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v hides its cause", err)
	}
}

func TestImagesMayNotChooseFurtherFiles(t *testing.T) {
	t.Parallel()
	header := func(change func(b []byte)) []byte {
		b := image1M("qcow2")
		change(b)
		return b
	}
	backed := header(func(b []byte) { b[15] = 104; b[19] = 4 })
	for _, c := range []struct {
		name  string
		image []byte
		need  Need
		want  error
	}{
		{"a plain qcow2 image", image1M("qcow2"), Need{Format: "qcow2"}, nil},
		{"a raw image that begins like a qcow2 one", backed, Need{Format: "raw"}, nil},
		{"a backing file that is declared", backed, Need{Format: "qcow2", Backing: true}, nil},
		{"a backing file that is not declared", backed, Need{Format: "qcow2"}, ErrBacking},
		{"an external data file", header(func(b []byte) { b[79] = 4 }), Need{Format: "qcow2", Backing: true}, ErrDataFile},
		{"version 2 has no feature bits", header(func(b []byte) { b[7] = 2; b[79] = 4 }), Need{Format: "qcow2"}, nil},
		{"an unknown version", header(func(b []byte) { b[7] = 9 }), Need{Format: "qcow2"}, ErrFormat},
		{"a raw image declared qcow2", make([]byte, 512), Need{Format: "qcow2"}, ErrFormat},
		{"an empty file", nil, Need{Format: "qcow2"}, ErrFormat},
		{"half a header", image1M("qcow2")[:76], Need{Format: "qcow2"}, ErrFormat},
	} {
		if err := CheckImage(bytes.NewReader(c.image), c.need); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
}
