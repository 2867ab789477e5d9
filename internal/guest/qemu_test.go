package guest

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

// The real QEMU has to accept every command line: it makes the machine with all devices, answers on its monitor and
// ends when told to. Paths of the documents are moved to a scratch directory; taps are made in a namespace.
func TestQEMUAcceptsEveryCommandLine(t *testing.T) {
	t.Parallel()
	binary, err := exec.LookPath("qemu-system-x86_64")
	if err != nil {
		t.Fatalf("%v; install qemu-system-x86", err)
	}
	for _, dir := range []string{"define", "only", "devices"} {
		cases(t, dir, func(t *testing.T, _ string, files map[string][]byte) {
			scratch := t.TempDir()
			d := parse(t, moveTo(scratch, files["domain.xml"]))
			facts := pcHost()
			facts.NVRAMDir = scratch
			if err := Complete(d, facts); err != nil {
				t.Fatal(err)
			}
			rt := testRuntime(d)
			rt.Accel, rt.Dir, rt.QMP = "tcg", scratch, ""
			if d.Features != nil {
				d.Features.IOAPIC = nil // needs KVM
				if d.Features.HyperV != nil {
					d.Features.HyperV.VPIndex = nil
				}
			}
			if d.MemoryBacking != nil && d.MemoryBacking.HugePages != nil {
				d.MemoryBacking = nil // the host need not have any
			}
			rt.MemoryDir = scratch
			for i := range rt.NICs {
				rt.NICs[i] = NICRuntime{Tap: "tap" + string(rune('a'+i%26)) + string(rune('a'+i/26))}
			}
			for i := range rt.Displays {
				rt.Displays[i] = DisplayRuntime{Port: 5900 + i, WebSocket: 5800, Address: "127.0.0.1"}
			}
			c, err := Compile(d, rt)
			if err != nil {
				t.Fatal(err)
			}
			ns := hosttest.NewNS(t) // its loopback keeps VNC ports apart
			ns.Shell("ip link set lo up; ip route add 224.0.0.0/4 dev lo")
			opened := open(t, ns, c.Needs)
			for _, p := range c.Companions {
				opened[p.File] = companion(t, p)
			}
			run(t, ns, binary, c, opened)
		})
	}
}

var folder = regexp.MustCompile(`/(img|tmp)/`)

func moveTo(scratch string, doc []byte) []byte {
	doc = folder.ReplaceAll(doc, []byte(scratch+"/"))
	// A block device is nothing a test may count on; the command line differs in the driver's name only.
	doc = bytes.ReplaceAll(doc, []byte("<source dev='/dev/sdx'/>"), []byte("<source file='"+scratch+"/sdx'/>"))
	doc = bytes.ReplaceAll(doc, []byte("<disk type='block'>"), []byte("<disk type='file'>"))
	return bytes.ReplaceAll(doc, []byte("<qemu:arg value='-name'/><qemu:arg value='x'/>"), []byte("<qemu:arg value='-name'/><qemu:arg value='y'/>"))
}

// open provides what a compilation needs, as the runtime does.
func open(t *testing.T, ns *hosttest.NS, needs []Need) map[string]*os.File {
	t.Helper()
	files := map[string]*os.File{}
	taps := map[string]*host.Tap{}
	queues := map[string]int{}
	for _, n := range needs {
		if n.Access == TapQueue || n.Access == GivenTap {
			queues[n.Path]++
		}
	}
	for _, n := range needs {
		var f *os.File
		var err error
		switch n.Access {
		case Check:
			writeOnce(t, n.Path, fakeKernel())
			continue
		case ReadOnly, ReadWrite:
			writeOnce(t, n.Path, image1M(n.Format))
			f, err = os.OpenFile(n.Path, map[Access]int{ReadOnly: os.O_RDONLY, ReadWrite: os.O_RDWR}[n.Access], 0)
		case WriteOnly, Append:
			f, err = os.OpenFile(n.Path, os.O_WRONLY|os.O_CREATE, 0o600)
		case Folder:
			if err := os.MkdirAll(n.Path, 0o700); err != nil {
				t.Fatal(err)
			}
			continue
		case Listen, Dial:
			f = socket(t, n)
			if n.Path == "/run/tpm.sock" {
				f = swtpm(t, "1.2")
			}
		case TapQueue, GivenTap:
			if taps[n.Path] == nil {
				ns.Do(func() {
					taps[n.Path], err = ns.Kernel().CreateTap(host.TapSpec{Name: n.Path, Queues: queues[n.Path], VNetHdr: true})
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			queues[n.Path]--
			f = taps[n.Path].Files[queues[n.Path]]
		}
		if err != nil {
			t.Fatal(err)
		}
		files[n.Name] = f
	}
	return files
}

func writeOnce(t *testing.T, path string, data []byte) {
	t.Helper()
	if _, err := os.Stat(path); err == nil {
		return
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// image1M is an empty image of a megabyte.
func image1M(format string) []byte {
	if format != "qcow2" {
		return make([]byte, 1<<20)
	}
	b := make([]byte, 5<<16) // header, refcount table, refcount block, L1 table, spare
	for _, v := range []struct {
		at, size int
		value    uint64
	}{
		{0, 4, 0x514649fb},
		{4, 4, 3},
		{20, 4, 16},
		{24, 8, 1 << 20},
		{36, 4, 1},
		{40, 8, 3 << 16},
		{48, 8, 1 << 16},
		{56, 4, 1},
		{96, 4, 4},
		{100, 4, 104},
		{1 << 16, 8, 2 << 16},
		{2 << 16, 2, 1},
		{2<<16 + 2, 2, 1},
		{2<<16 + 4, 2, 1},
		{2<<16 + 6, 2, 1},
	} {
		field := b[v.at : v.at+v.size]
		switch v.size {
		case 2:
			binary.BigEndian.PutUint16(field, uint16(v.value))
		case 4:
			binary.BigEndian.PutUint32(field, uint32(v.value))
		default:
			binary.BigEndian.PutUint64(field, v.value)
		}
	}
	return b
}

// fakeKernel has the header of a bzImage and nothing behind it: no guest of this test ever runs.
func fakeKernel() []byte {
	b := make([]byte, 16<<10)
	b[0x1f1] = 1
	copy(b[0x202:], "HdrS")
	binary.LittleEndian.PutUint16(b[0x206:], 0x20c)
	b[0x211] = 1
	binary.LittleEndian.PutUint32(b[0x22c:], 0x7fffffff)
	return b
}

func run(t *testing.T, ns *hosttest.NS, binary string, c *Compiled, files map[string]*os.File) {
	t.Helper()
	c.Config.Extra = append(c.Config.Extra, "-qmp", "stdio")
	argv, names, err := c.Config.Args(3)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, argv...)
	cmd.Env = append(os.Environ(), c.Config.Env...)
	for _, name := range names {
		if files[name] == nil {
			t.Fatalf("the command line wants %q, which is not among the needs", name)
		}
		cmd.ExtraFiles = append(cmd.ExtraFiles, files[name])
	}
	var out bytes.Buffer
	cmd.Stdin = strings.NewReader(`{"execute":"qmp_capabilities"}{"execute":"query-status"}{"execute":"quit"}`)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := ns.Start(cmd); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	for _, f := range files {
		_ = f.Close()
	}
	if err != nil || !strings.Contains(out.String(), `"status": "prelaunch"`) {
		t.Errorf("QEMU: %v\n%s\n%s", err, out.String(), strings.Join(argv, "\n"))
	}
	if warned := regexp.MustCompile(`(?m)^.*warning:.*$`).FindAllString(out.String(), -1); warned != nil {
		t.Logf("QEMU warns:\n%s", strings.Join(warned, "\n"))
	}
	if len(names) != len(files) {
		t.Errorf("%d files were opened and %d are used", len(files), len(names))
	}
}

// socket makes the listening or connected end of a unix socket.
func socket(t *testing.T, n Need) *os.File {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(n.Path), 0o700); err != nil {
		t.Fatal(err)
	}
	k := host.New(host.Options{})
	f, err := k.ListenUnix(n.Path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if n.Access == Listen {
		return f
	}
	defer f.Close()
	conn, err := k.DialUnix(t.Context(), n.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	type filer interface{ File() (*os.File, error) }
	dialled, err := conn.(filer).File()
	if err != nil {
		t.Fatal(err)
	}
	return dialled
}
