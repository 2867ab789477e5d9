package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/appliance/pid1/pid1test"
	"taproom/internal/appliance/wire"
)

func TestUrgentDevicesComeFirstAndNewOnesAreFound(t *testing.T) {
	t.Parallel()
	sys := pid1test.Tree(t, map[string]string{
		"bus/pci/devices/0/modalias":      "pci:v00008086d00007010sv00001AF4sd00001100bc01sc01i80\n", // IDE
		"bus/pci/devices/1/modalias":      "pci:v00001AF4d00001003sv00001AF4sd00000003bc07sc80i00\n", // virtio
		"bus/pci/devices/2/modalias":      "pci:v00008086d0000100Esv00001AF4sd00001100bc02sc00i00\n", // e1000
		"bus/acpi/devices/3/modalias":     "acpi:LNXPWRBN:\n",
		"bus/platform/devices/4/modalias": "\n",
		"bus/platform/devices/5/uevent":   "",
	})
	s := newScanner(sys)
	var got [][]string
	for round := 0; ; round++ {
		s.scan()
		next, found := s.next()
		if !found {
			break
		}
		got = append(got, next)
		if round == 0 { // the driver of the PCI device brings up what is on its bus
			for name, want := range map[string]string{"virtio0": "virtio:d00000003v00001AF4", "virtio1": "virtio:d00000002v00001AF4"} {
				dir := filepath.Join(sys, "bus/virtio/devices", name)
				if err := os.MkdirAll(dir, 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, "modalias"), []byte(want), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	want := [][]string{
		{"pci:v00001AF4d00001003sv00001AF4sd00000003bc07sc80i00"},
		{"virtio:d00000003v00001AF4"},
		{"pci:v00008086d0000100Esv00001AF4sd00001100bc02sc00i00"},
		{"acpi:LNXPWRBN:", "virtio:d00000002v00001AF4"},
		{"pci:v00008086d00007010sv00001AF4sd00001100bc01sc01i80"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func TestDisksAreDescribedFromSysfs(t *testing.T) {
	t.Parallel()
	d := disks{
		sys: pid1test.Tree(t, map[string]string{
			"vda/size": "16\n", "vda/serial": "ABC\n", "vda/ro": "1\n", "vda/device/driver": "->../../drivers/virtio_blk",
			"sda/size": "8\n", "sda/ro": "0\n", "sda/device/vpd_pg80": "\x00\x80\x00\x06SER 1 ignored",
			"sdb/size": "8\n", "sdb/device/vpd_pg80": "\x00\x80\xff\xffcut",
			"sr0/size": "0\n", "loop0/size": "8\n", "ram0/size": "8\n",
		}),
		dev: pid1test.Tree(t, map[string]string{"vda": strings.Repeat("a", 8192), "sda": "short"}),
	}
	want := []wire.Block{
		{Name: "sda", Bytes: 4096, Serial: "SER 1", SHA256: hash("short")},
		{Name: "sdb", Bytes: 4096, Serial: "cut", Error: "open " + d.dev + "/sdb: no such file or directory"},
		{Name: "sr0", CDROM: true, Error: "no medium"},
		{Name: "vda", Bytes: 8192, Serial: "ABC", Driver: "virtio_blk", ReadOnly: true, SHA256: hash(strings.Repeat("a", headSize))},
	}
	if diff := cmp.Diff(want, d.list()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPatternIsWrittenToTheNamedDiskAndNowhereElse(t *testing.T) {
	t.Parallel()
	d := disks{
		sys: pid1test.Tree(t, map[string]string{"vda/size": "16\n"}),
		dev: pid1test.Tree(t, map[string]string{"vda": strings.Repeat("-", 8192), "secret": "unchanged"}),
	}
	b := wire.BlockTest{Name: "vda", Offset: 1000, Bytes: 2000, Seed: 3}
	if _, err := d.write(b); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(d.dev, "vda"))
	if err != nil {
		t.Fatal(err)
	}
	want := bytes.Repeat([]byte("-"), 8192)
	_, _ = (&pattern{seed: 3}).Read(want[1000:3000])
	if !bytes.Equal(got, want) {
		t.Error("the disk does not hold the pattern and its old rest")
	}
	if r, err := d.read(b); err != nil || !r.Match {
		t.Errorf("reading it back: %+v, %v", r, err)
	}
	b.Bytes = 100_000
	if r, err := d.read(b); err != nil || r.Match {
		t.Errorf("a disk that ends too early: %+v, %v", r, err)
	}
	for _, bad := range []wire.BlockTest{
		{Name: "../dev/secret", Bytes: 1},
		{Name: "secret", Bytes: 1},
		{Name: "", Bytes: 1},
		{Name: "..", Bytes: 1},
		{Name: "vda", Bytes: 0},
		{Name: "vda", Bytes: 1, Offset: -1},
		{Name: "vda", Bytes: maxBlockTest + 1},
	} {
		if _, err := d.write(bad); err == nil {
			t.Errorf("%+v was written", bad)
		}
	}
}

func TestPowerButtonIsOneKeyPressed(t *testing.T) {
	t.Parallel()
	event := func(kind, code uint16, value uint32) string {
		b := make([]byte, 16, inputEventSize)
		b = binary.NativeEndian.AppendUint16(b, kind)
		b = binary.NativeEndian.AppendUint16(b, code)
		return string(binary.NativeEndian.AppendUint32(b, value))
	}
	for name, c := range map[string]struct {
		events string
		want   bool
	}{
		"pressed":       {event(0, 0, 0) + event(evKey, keyPower, 1), true},
		"released":      {event(evKey, keyPower, 0), false},
		"another key":   {event(evKey, 30, 1), false},
		"another kind":  {event(2, keyPower, 1), false},
		"half an event": {event(evKey, keyPower, 1)[:20], false},
	} {
		if got := pressed(strings.NewReader(c.events)); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestRoutesAreReadFromTheKernelsTable(t *testing.T) {
	t.Parallel()
	const table = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n" +
		"eth0\t00000000\t0197A8C0\t0003\t0\t0\t102\t00000000\t0\t0\t0\n" +
		"eth0\t0097A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n" +
		"broken line\n"
	want := []wire.Route{
		{Destination: "0.0.0.0/0", Gateway: "192.168.151.1", Link: "eth0"}, {Destination: "192.168.151.0/24", Link: "eth0"},
	}
	if diff := cmp.Diff(want, parseRoutes(strings.NewReader(table))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// desk is an operator that notes what it is told.
type desk struct{ said []string }

func (d *desk) describe() string   { return "eth0 up\n" }
func (d *desk) off(why string)     { d.said = append(d.said, "off: "+why) }
func (d *desk) restart(why string) { d.said = append(d.said, "restart: "+why) }

func TestConsoleAnswersWhatIsTyped(t *testing.T) {
	t.Parallel()
	var screen bytes.Buffer
	c := &console{rw: struct {
		io.Reader
		io.Writer
	}{strings.NewReader("ip\nhello\n\nreboot\npoweroff\n"), &screen}}
	d := &desk{}
	c.printf("starting")
	c.serve(d)
	if diff := cmp.Diff("taproom: starting\nType help.\n# eth0 up\n# you typed: hello\n# # # # ", screen.String()); diff != "" {
		t.Errorf("screen (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"restart: asked at the console", "off: asked at the console"}, d.said); diff != "" {
		t.Errorf("orders (-want +got):\n%s", diff)
	}
	(&console{}).printf("a guest without a console")
	(&console{}).serve(d)
}
