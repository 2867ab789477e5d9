package uml

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheCommandLineNamesNothingOfTheHostButTheInitramfs(t *testing.T) {
	t.Parallel()
	c := Config{Kernel: "/cache/uml/vmlinux", Initrd: "/cache/initrd", Memory: 128, Quiet: true, FDs: Inherited{Line: 3, Plug: 4, Tools: 5}}
	want := strings.Fields("/cache/uml/vmlinux mem=128M initrd=/cache/initrd con=null con0=null,fd:1 uml_dir=/ umid=appliance noreboot panic=-1 " +
		"appliance_line=3 appliance_plug=4 ubd0rdc=/proc/self/fd/5,,taproom-tools quiet")
	if diff := cmp.Diff(want, c.Args()); diff != "" {
		t.Errorf("with everything (-want +got):\n%s", diff)
	}
	c.Quiet, c.FDs.Tools = false, 0
	if diff := cmp.Diff(want[:len(want)-2], c.Args()); diff != "" {
		t.Errorf("a kernel that tells of its boot, without tools (-want +got):\n%s", diff)
	}
}

func TestADiskIsPluggedInByDescriptorsOfItsOwn(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]Disk{
		"202 bd=/proc/self/fd/202,,disk1":                   {Unit: 1, Serial: "disk1"},
		"204 crcd=/proc/self/fd/204,,disk2":                 {Unit: 2, Serial: "disk2", ReadOnly: true},
		"230 pc=/proc/self/fd/230,/proc/self/fd/231,disk15": {Unit: MostDisks - 1, Serial: "disk15", Overlay: true},
	} {
		if got := d.Command(); got != want {
			t.Errorf("%+v: %q, want %q", d, got, want)
		}
	}
	if got, want := (Disk{Unit: 1}).Removal(), "202 -b"; got != want {
		t.Errorf("removal %q, want %q", got, want)
	}
}

func TestAGuestMayOpenItsOwnFilesAlone(t *testing.T) {
	t.Parallel()
	l := ruleset(Config{Kernel: "/cache/vmlinux", Initrd: "/cache/initrd"})
	if diff := cmp.Diff([]string{"/cache/vmlinux"}, l.ReadExec); diff != "" {
		t.Errorf("executes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"/cache/initrd", "/proc/cpuinfo"}, l.ReadOnly); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"/dev/null"}, l.ReadWrite); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if l.AnyTCP || !l.ScopeSignals || !l.ScopeAbstract {
		t.Errorf("%+v", l)
	}
}
