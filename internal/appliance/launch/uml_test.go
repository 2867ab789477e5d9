package launch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/chain"
	"taproom/internal/appliance/launchtest"
	"taproom/internal/appliance/uml"
	"taproom/internal/host"
	"taproom/internal/qemu/emutest"
)

// umlSpec is of appliances in User-Mode Linux, where its kernel was built and runs.
func umlSpec(t *testing.T) Spec {
	t.Helper()
	s := Spec{Files: launchtest.Files(t), Launcher: launchtest.Program(t, "taproom-launch"), Way: WayUML}
	if s.Files.UML.Kernel == "" {
		t.Skip("needs the kernel of User-Mode Linux: make appliance builds it and runs this")
	}
	if n := host.ExtendedState(); n > UMLState {
		t.Skipf("User-Mode Linux crashes on a processor with %d bytes of extended registers: make appliance on one with at most %d runs this", n, UMLState)
	}
	if abi, err := host.LandlockABI(); abi < uml.LandlockABI {
		t.Skipf("User-Mode Linux needs Landlock of version %d, and this kernel has %d (%v): run `make appliance` on Linux 6.12", uml.LandlockABI, abi, err)
	}
	return s
}

func TestUserModeLinux(t *testing.T) {
	t.Parallel()
	s := umlSpec(t)
	l, err := Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	if way, _ := l.Way(); way != WayUML {
		t.Errorf("the way is %v", way)
	}
	t.Run("tests", func(t *testing.T) {
		for name, test := range map[string]func(*testing.T, *Launcher){
			"it is confined, and measured with its programs":        umlConfined,
			"what is written to a disk of one's own is thrown away": discarded,
			"what is written lasts":                                 umlLasts,
			"a disk that is read-only refuses writes":               refusesWrites,
			"what it would misread is refused":                      umlRefuses,
			"as many disks as there are":                            umlManyDisks,
			"nothing is left of many":                               leaksNothing,
			"it is not given away":                                  umlStays,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, l)
			})
		}
	})
	t.Run("nothing outlives its caller", func(t *testing.T) { leavesNothing(t, s) })
}

func umlConfined(t *testing.T, l *Launcher) {
	a := launched(t, l)
	confined(t, a)
	if a.Info().Kernel == "" || a.Info().Hostname == "" {
		t.Errorf("it says of itself %+v", a.Info())
	}
	programs, err := l.k.Children(a.PID())
	if err != nil || len(programs) == 0 {
		t.Fatalf("the guest's programs: %v, %v", programs, err)
	}
	umlMeasured(t, l, a)
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	for _, pid := range programs {
		if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && !strings.Contains(string(b), ") Z ") {
			t.Errorf("a program of the guest is left: %s", b)
		}
	}
}

// umlMeasured looks again when the guest did something between two looks.
func umlMeasured(t *testing.T, l *Launcher, a *Appliance) {
	t.Helper()
	late, cancel := emutest.Context(t.Context())
	defer cancel()
	for {
		own, err := l.k.PSS(a.PID())
		if err != nil {
			t.Fatal(err)
		}
		programs, err := l.k.Children(a.PID())
		if err != nil {
			t.Fatal(err)
		}
		var sum uint64
		for _, pid := range programs {
			if n, err := l.k.PSS(pid); err == nil {
				sum += n
			}
		}
		all, err := a.PSS()
		if err != nil {
			t.Fatal(err)
		}
		if t.Logf("%d of the kernel, %d of %d programs, %d in all", own, sum, len(programs), all); sum > 0 && all >= own+sum/2 {
			return
		}
		if late.Err() != nil {
			t.Errorf("%d bytes in all, and %d of the kernel and %d of its programs", all, own, sum)
			return
		}
	}
}

func umlLasts(t *testing.T, l *Launcher) {
	image := ext4(t)
	a := launched(t, l)
	mounted(t, a, Disk{Path: image, Format: "raw", Access: Write})
	if err := writes(a, t, "/new", "lasting"); err != nil {
		t.Fatal(err)
	}
	if err := a.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(a.PID(), 0); !errors.Is(err, unix.ESRCH) {
		t.Errorf("the guest's kernel: %v, want none", err)
	}
	tool(t, "e2fsck", "-fn", image)
	if got := tool(t, "debugfs", "-R", "cat /new", image); !strings.Contains(got, "lasting") {
		t.Errorf("it holds %q", got)
	}
}

func umlRefuses(t *testing.T, l *Launcher) {
	dir := t.TempDir()
	qcow, trap := filepath.Join(dir, "image.qcow2"), filepath.Join(dir, "trap")
	tool(t, "qemu-img", "create", "-q", "-f", "qcow2", qcow, "1M")
	if err := os.WriteFile(trap, append([]byte("OOOM\x00\x00\x00\x03"), make([]byte, 1<<16)...), 0o600); err != nil {
		t.Fatal(err)
	}
	a := launched(t, l)
	for _, d := range []Disk{{Path: qcow}, {Path: trap, Format: "raw"}, {Path: trap, Format: "raw", Access: Scratch}} {
		if _, err := a.Attach(t.Context(), d); !errors.Is(err, ErrUMLFormat) {
			t.Errorf("%+v: %v, want %v", d, err, ErrUMLFormat)
		}
	}
	if _, err := a.Attach(t.Context(), Disk{Path: filepath.Join(dir, "none"), Format: "raw"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an image that is not there: %v", err)
	}
	if d, err := a.Attach(t.Context(), Disk{Path: ext4(t)}); err != nil || d.Serial != "disk1" {
		t.Errorf("after all that were refused: %+v, %v", d, err)
	}
}

func umlManyDisks(t *testing.T, l *Launcher) {
	a, image := launched(t, l), ext4(t)
	c, err := chain.Open(t.Context(), l.k, chain.Image{Path: image})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	p, err := a.vm.add(t.Context(), Disk{Path: image, Access: ReadOnly}, c)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.takeBack(t.Context()); err != nil {
		t.Error(err)
	}
	const most = 15
	for n := 1; n <= most; n++ {
		d, err := a.Attach(t.Context(), Disk{Path: image, Access: ReadOnly})
		if want := "disk" + strconv.Itoa(n); err != nil || d.Serial != want {
			t.Fatalf("%+v, %v, want %s", d, err, want)
		}
	}
	if _, err := a.Attach(t.Context(), Disk{Path: image}); err == nil || !strings.Contains(err.Error(), "at most 15") {
		t.Errorf("one more: %v", err)
	}
}

func umlStays(t *testing.T, l *Launcher) {
	if _, err := launched(t, l).HandOver(); err == nil {
		t.Error("it was handed over")
	}
}

func TestAProcessorWithTooManyRegistersIsTheReason(t *testing.T) {
	t.Parallel()
	crash := errors.New("User-Mode Linux ended (exit 1)")
	if err := explainUML(crash, UMLState+1); !errors.Is(err, ErrUMLProcessor) || !errors.Is(err, crash) || !strings.Contains(err.Error(), "2697 bytes") {
		t.Errorf("got %v", err)
	}
	if err := explainUML(crash, UMLState); !errors.Is(err, crash) || errors.Is(err, ErrUMLProcessor) {
		t.Errorf("on another processor: %v", err)
	}
	if err := explainUML(nil, UMLState+1); err != nil {
		t.Errorf("of no error: %v", err)
	}
}

func TestOptionsOfQEMUAreRefusedInUserModeLinux(t *testing.T) {
	t.Parallel()
	for want, spoil := range map[string]func(*Spec){
		"the machine q35 is for QEMU":     func(s *Spec) { s.Machine = "q35" },
		"the accelerator kvm is for QEMU": func(s *Spec) { s.Accelerator = "kvm" },
		"the QEMU /none/qemu is for QEMU": func(s *Spec) { s.QEMU = "/none/qemu" },
	} {
		s := Spec{Way: WayUML}
		s.Files.UML.Kernel = "/none"
		spoil(&s)
		if _, err := Open(t.Context(), s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
