package guest

import (
	cmp2 "cmp"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"taproom/internal/guest/firmware"
	"taproom/internal/spec"
)

// pcHost is a host with Debian 12's QEMU, as far as the documents in testdata need it.
func pcHost() HostFacts {
	return HostFacts{
		Arch:     "x86_64",
		Emulator: "/usr/bin/qemu-system-x86_64",
		Machines: []Machine{
			{Name: "pc-i440fx-7.2", Alias: "pc", MaxCPUs: 255},
			{Name: "pc-q35-7.2", Alias: "q35", MaxCPUs: 288},
			{Name: "pc-i440fx-6.2", MaxCPUs: 255},
			{Name: "pc-q35-7.1", MaxCPUs: 288},
			{Name: "microvm", MaxCPUs: 288},
			{Name: "isapc", MaxCPUs: 1},
		},
		Firmware: debianFirmware,
		NVRAMDir: "/var/lib/taproom/nvram",
		NewMAC:   func() string { return "52:54:00:00:00:ff" },
		NewUUID:  func() spec.UUID { return spec.UUID{0xff} },
	}
}

// debianFirmware are the descriptors of Debian 12's package ovmf.
func debianFirmware() firmware.List {
	dir := firmware.Dir{}
	paths, _ := filepath.Glob("testdata/firmware/*.json")
	for _, p := range paths {
		dir[filepath.Base(p)], _ = os.ReadFile(p)
	}
	return firmware.Read(dir)
}

func parse(t *testing.T, doc []byte) *spec.Domain {
	t.Helper()
	d, err := spec.ParseDomain(doc)
	if err != nil {
		t.Fatalf("parse: %v\n%s", err, doc)
	}
	return d
}

// cases opens every archive of a folder below testdata.
func cases(t *testing.T, dir string, run func(t *testing.T, path string, files map[string][]byte)) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", dir, "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("testdata/%s: no case (%v)", dir, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			files := map[string][]byte{}
			for _, f := range a.Files {
				files[f.Name] = f.Data
			}
			run(t, path, files)
		})
	}
}

var update = flag.Bool("update", false, "rewrite the goldens in testdata with what the code says now")

// golden compares one file of a case, or rewrites it.
func golden(t *testing.T, path, name, got string) {
	t.Helper()
	a, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == name })
	if *update {
		if i < 0 {
			i = len(a.Files)
			a.Files = append(a.Files, txtar.File{Name: name})
		}
		a.Files[i].Data = []byte(got)
		if err := os.WriteFile(path, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if i < 0 {
		t.Fatalf("%s has no file %s; run the tests with -update and read the result", path, name)
	}
	if diff := cmp.Diff(string(a.Files[i].Data), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// A definition must read back as it does with libvirt. What we do differently on purpose stands in a file
// taproom.xml of the case, beside libvirt's answer.
func TestCompleteFillsInWhatLibvirtFillsIn(t *testing.T) {
	t.Parallel()
	cases(t, "define", func(t *testing.T, _ string, files map[string][]byte) {
		want, deliberate := files["taproom.xml"]
		if !deliberate {
			want = files["libvirt-9.0.xml"]
		}
		d := parse(t, files["domain.xml"])
		if err := Complete(d, pcHost()); err != nil {
			t.Fatalf("Complete: %v", err)
		}
		if diff := cmp.Diff(string(want), string(Inactive(d, false).Format())); diff != "" {
			t.Errorf("completed document (-want +got):\n%s", diff)
		}
	})
}

// As with libvirt, a second definition may list disks and controllers in another order: implicit controllers are
// appended, those of a document are sorted into their type; disks are sorted within a bus that the document names.
func TestCompleteOfACompleteDocumentMovesNothing(t *testing.T) {
	t.Parallel()
	sorted := func(d *spec.Domain) string {
		d = d.Clone()
		slices.SortStableFunc(d.Devices.Controllers, func(a, b spec.Controller) int {
			return cmp2.Or(strings.Compare(a.Type, b.Type), index(&a)-index(&b))
		})
		slices.SortStableFunc(d.Devices.Disks, func(a, b spec.Disk) int { return strings.Compare(a.Target.Dev, b.Target.Dev) })
		return string(d.Format())
	}
	cases(t, "define", func(t *testing.T, _ string, files map[string][]byte) {
		var docs [3]*spec.Domain
		doc := files["domain.xml"]
		for i := range docs {
			docs[i] = parse(t, doc)
			if err := Complete(docs[i], pcHost()); err != nil {
				t.Fatalf("Complete, pass %d: %v", i+1, err)
			}
			doc = docs[i].Format()
		}
		if diff := cmp.Diff(sorted(docs[0]), sorted(docs[1])); diff != "" {
			t.Errorf("second Complete changed the document (-first +second):\n%s", diff)
		}
		if diff := cmp.Diff(string(docs[1].Format()), string(docs[2].Format())); diff != "" {
			t.Errorf("third Complete changed the document (-second +third):\n%s", diff)
		}
	})
}

// What libvirt takes is not refused before it is completed.
func TestADocumentThatCanBeCompletedIsValid(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"define", "only", "live", "devices"} {
		cases(t, dir, func(t *testing.T, _ string, files map[string][]byte) {
			for name, doc := range files {
				if !strings.HasSuffix(name, ".xml") {
					continue
				}
				if err := parse(t, doc).Validate(); err != nil && !refusedOnPurpose(err) {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

// refusedOnPurpose reports whether an error is one of those in testdata/README.md's table of differences.
func refusedOnPurpose(err error) bool {
	var inv *spec.InvalidError
	return errors.As(err, &inv) && inv.Element == "currentMemory"
}

// QEMU reads a number that begins with 0 as an octal one.
func TestNumbersAreWrittenWithoutLeadingZeros(t *testing.T) {
	t.Parallel()
	d := parse(t, []byte("<domain type='qemu'><name>a</name><memory>32768</memory><vcpu current='08'>010</vcpu><os><type>hvm</type></os>"+
		"<devices><disk><source file='/a'/><target dev='vda'/><boot order='010'/></disk></devices></domain>"))
	if err := Complete(d, pcHost()); err != nil {
		t.Fatal(err)
	}
	c, err := Compile(d, testRuntime(d))
	if err != nil {
		t.Fatal(err)
	}
	line := lines(t, c.Config)
	for _, want := range []string{"-smp 8,maxcpus=10,sockets=10,", `"bootindex":10`} {
		if !strings.Contains(line, want) {
			t.Errorf("no %s in\n%s", want, line)
		}
	}
}

func TestAClockThatIsOffUTCIsAVariableOne(t *testing.T) {
	t.Parallel()
	for clock, want := range map[string]string{
		"<clock offset='utc' adjustment='3600'/>":        "base=2026-03-01T13:00:00",
		"<clock offset='variable' adjustment='-3600'/>":  "base=2026-03-01T11:00:00",
		"<clock offset='utc' adjustment='reset'/>":       "base=utc",
		"<clock offset='localtime' adjustment='reset'/>": "base=localtime",
	} {
		c, err := compiled(t, document("pc", clock, ""), nil)
		if err != nil {
			t.Errorf("%s: %v", clock, err)
			continue
		}
		if line := lines(t, c.Config); !strings.Contains(line, "-rtc "+want+"\n") {
			t.Errorf("%s: no %s in\n%s", clock, want, line)
		}
	}
}

func TestNICsOfOneMACHaveAPlaceEach(t *testing.T) {
	t.Parallel()
	nic := "<interface type='user'><mac address='52:54:00:00:00:01'/></interface>"
	for _, machine := range []string{"pc", "q35"} {
		d := parse(t, document(machine, "", nic+nic+nic))
		if err := Complete(d, pcHost()); err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for i, n := range d.Devices.Interfaces {
			if n.Address == nil {
				t.Fatalf("%s: NIC %d has no address", machine, i)
			}
			at := n.Address.Bus + n.Address.Slot + n.Address.Function
			if seen[at] {
				t.Errorf("%s: two NICs at %s", machine, at)
			}
			seen[at] = true
		}
	}
}

// Each document of testdata/refuse is refused with a message that names the devices in question. libvirt.txt is what
// libvirt 9.0 says.
func TestCompleteRefusesWhatHasNoPlace(t *testing.T) {
	t.Parallel()
	cases(t, "refuse", func(t *testing.T, path string, files map[string][]byte) {
		d := parse(t, files["domain.xml"])
		host := pcHost()
		host.KVM = errors.New("the CPU has neither vmx nor svm")
		err := Complete(d, host)
		if err == nil {
			t.Fatalf("Complete accepted:\n%s", d.Format())
		}
		golden(t, path, "error.txt", err.Error()+"\n")
		var inv *spec.InvalidError
		var uns *spec.UnsupportedError
		if !errors.As(err, &inv) && !errors.As(err, &uns) {
			t.Errorf("%T is neither InvalidError nor UnsupportedError", err)
		}
	})
}

// The root is bus 0 wherever it stands among controllers without numbers.
func TestARootPortBeforeItsRootIsNotBus0(t *testing.T) {
	t.Parallel()
	d := parse(t, []byte("<domain type='qemu'><name>x</name><memory>65536</memory><os><type machine='q35'>hvm</type></os><devices>"+
		"<controller type='pci' model='pcie-root-port'/><controller type='pci' model='pcie-root'/></devices></domain>"))
	if err := Complete(d, pcHost()); err != nil {
		t.Fatal(err)
	}
	for _, k := range d.Devices.Controllers {
		if k.Type == "pci" && (k.Model == "pcie-root") != (k.Index == "0") {
			t.Errorf("a %s has index %s", k.Model, k.Index)
		}
	}
}
