package qemu

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

// fakeKVM fails at one step.
type fakeKVM struct {
	openErr, versionErr, vmErr, vcpuErr, runErr error
	version                                     int
	opened, closed                              bool
}

func (f *fakeKVM) Open() error {
	f.opened = f.openErr == nil
	return f.openErr
}
func (f *fakeKVM) APIVersion() (int, error) { return f.version, f.versionErr }
func (f *fakeKVM) CreateVM() error          { return f.vmErr }
func (f *fakeKVM) CreateVCPU() error        { return f.vcpuErr }
func (f *fakeKVM) Run(ctx context.Context) (time.Duration, error) {
	if _, bounded := ctx.Deadline(); !bounded {
		panic("the trial run has no deadline")
	}
	return time.Millisecond, f.runErr
}
func (f *fakeKVM) Close() error { f.closed = true; return nil }

func TestKVMIsUsableOnlyWhenEverythingSaysSo(t *testing.T) {
	t.Parallel()
	opens := []string{"/dev/kvm opens"}
	version := append(opens[:1:1], "KVM_GET_API_VERSION: 12")
	vm := append(version[:2:2], "KVM_CREATE_VM: works")
	vcpu := append(vm[:3:3], "KVM_CREATE_VCPU: works")
	ran := append(vcpu[:4:4], "KVM_RUN: 10000 loops and a hlt in 1ms")
	cases := []struct {
		name     string
		fake     fakeKVM
		flags    []string
		flagsErr error
		access   error
		want     KVM
	}{
		{"no device", fakeKVM{openErr: unix.ENOENT}, nil, nil, nil, KVM{
			Reason:   "there is no /dev/kvm: load kvm_intel or kvm_amd, or turn on virtualisation in the firmware; use type='qemu' otherwise",
			Evidence: []string{"open /dev/kvm: no such file or directory"},
		}},
		{"no permission", fakeKVM{openErr: fs.ErrPermission}, nil, nil, nil, KVM{
			Reason:   "/dev/kvm exists but may not be opened: add the user to its group; use type='qemu' otherwise",
			Evidence: []string{"open /dev/kvm: permission denied"},
		}},
		{"no driver", fakeKVM{openErr: unix.ENODEV}, nil, nil, nil, KVM{
			Reason:   "/dev/kvm exists but has no driver behind it: load kvm_intel or kvm_amd; use type='qemu' otherwise",
			Evidence: []string{"open /dev/kvm: no such device"},
		}},
		{"other open error", fakeKVM{openErr: unix.EMFILE}, nil, nil, nil, KVM{
			Reason:   "/dev/kvm cannot be opened (too many open files): use type='qemu'",
			Evidence: []string{"open /dev/kvm: too many open files"},
		}},
		{"not KVM", fakeKVM{versionErr: unix.ENOTTY}, nil, nil, nil, KVM{
			Reason:   "/dev/kvm opens, but it does not answer (KVM_GET_API_VERSION: inappropriate ioctl for device): use type='qemu', or look for KVM in the kernel's log",
			Evidence: append(opens[:1:1], "KVM_GET_API_VERSION: inappropriate ioctl for device"),
		}},
		{"old version", fakeKVM{version: 11}, nil, nil, nil, KVM{
			Reason:   "/dev/kvm opens, but it speaks version 11 and not 12: use type='qemu', or look for KVM in the kernel's log",
			Evidence: append(opens[:1:1], "KVM_GET_API_VERSION: 11"),
		}},
		{"no machine", fakeKVM{version: 12, vmErr: unix.EBUSY}, []string{"vmx"}, nil, nil, KVM{
			Reason:   "/dev/kvm opens, but it creates no machine (KVM_CREATE_VM: device or resource busy): use type='qemu', or look for KVM in the kernel's log",
			Evidence: append(version[:2:2], "KVM_CREATE_VM: device or resource busy"),
		}},
		{"no CPU", fakeKVM{version: 12, vcpuErr: unix.EIO}, []string{"vmx"}, nil, nil, KVM{
			Reason:   "/dev/kvm creates a machine, but it creates no CPU (KVM_CREATE_VCPU: input/output error): use type='qemu', or look for KVM in the kernel's log",
			Evidence: append(vm[:3:3], "KVM_CREATE_VCPU: input/output error"),
		}},
		{"guest is stuck", fakeKVM{version: 12, runErr: errKVMStuck}, []string{"vmx"}, nil, nil, KVM{
			Reason:   "/dev/kvm opens and creates a vCPU, but it does not run it (KVM_RUN: the trial guest did not finish): use type='qemu', or look for KVM in the kernel's log",
			Evidence: append(vcpu[:4:4], "KVM_RUN: the trial guest did not finish"),
		}},
		{"no hardware", fakeKVM{version: 12}, nil, nil, nil, KVM{
			Reason:   "/dev/kvm opens and creates a vCPU, but the processor shows neither vmx nor svm: guests would run at a crawl; use type='qemu', or turn on (nested) virtualisation below this host",
			Evidence: append(ran[:5:5], "/proc/cpuinfo shows neither vmx nor svm"),
		}},
		{"unknown hardware", fakeKVM{version: 12}, nil, unix.EACCES, nil, KVM{
			Reason:   "/dev/kvm opens and creates a vCPU, but the processor's flags cannot be read (permission denied): use type='qemu'",
			Evidence: append(ran[:5:5], "read /proc/cpuinfo: permission denied"),
		}},
		{"for root alone", fakeKVM{version: 12}, []string{"svm"}, nil, errors.New("only root may open it: chmod"), KVM{
			Reason:   "/dev/kvm opens and creates a vCPU, but only root may open it: chmod; use type='qemu' otherwise",
			Evidence: append(ran[:5:5], "only root may open it: chmod"),
		}},
		{"works", fakeKVM{version: 12}, []string{"svm"}, nil, nil, KVM{
			Usable: true, Reason: "/dev/kvm opens and creates a vCPU and the processor shows svm",
			Evidence: append(ran[:5:5], "/proc/cpuinfo shows svm"),
		}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := probeKVM(t.Context(), &tc.fake, tc.flags, tc.flagsErr, tc.access)
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if tc.fake.opened != tc.fake.closed {
				t.Errorf("opened %v, closed %v", tc.fake.opened, tc.fake.closed)
			}
		})
	}
}

func TestAGuestGetsTheGroupOfADeviceAndNeverRoots(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode os.FileMode
		gid  int
		want []uint32
		says string
	}{
		{0o666, 0, nil, ""},
		{0o666, 105, nil, ""},
		{0o660, 105, []uint32{105}, ""}, // Debian's
		{0o664, 105, []uint32{105}, ""},
		{0o660, 0, nil, "only root may open"},
		{0o640, 105, nil, "chmod 0660"},
		{0o600, 0, nil, "chgrp kvm"},
	} {
		path := filepath.Join(t.TempDir(), "kvm")
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chown(path, 0, c.gid), os.Chmod(path, c.mode)); err != nil {
			t.Fatal(err)
		}
		got, err := deviceGroups(kernel(), path)
		if !slices.Equal(got, c.want) || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("mode %o, group %d: got %d, %v; want %d, %q", c.mode, c.gid, got, err, c.want, c.says)
		}
	}
	if _, err := deviceGroups(kernel(), "/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no device: %v", err)
	}
}

func TestVirtualisationFlagsAreWholeWords(t *testing.T) {
	t.Parallel()
	for cpuinfo, want := range map[string][]string{
		"": nil,
		"flags\t\t: fpu vmx sse\nflags\t: fpu vmx\n": {"vmx"},
		"flags : svm_lock avmx":                      nil,
		"vmx flags\t: ept\nvmx : x":                  nil,
		"flags: svm":                                 {"svm"},
	} {
		if d := cmp.Diff(want, virtualisation(cpuinfo)); d != "" {
			t.Errorf("%q (-want +got):\n%s", cpuinfo, d)
		}
	}
}

func TestKVMProbeOfThisHostComesToAVerdictAndLeavesNothing(t *testing.T) {
	t.Parallel()
	got := ProbeKVM(t.Context(), kernel())
	if got.Reason == "" || len(got.Evidence) == 0 {
		t.Errorf("got %+v, want a reason and evidence", got)
	}
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Fatal(err)
	}
	if got.Usable && len(virtualisation(string(b))) == 0 || got.Usable != !strings.Contains(got.Reason, "type='qemu'") {
		t.Errorf("verdict %+v does not fit the processor's flags or its own reason", got)
	}
	t.Logf("%+v", got)
}

// withKVM is where there is one: the lab's machine has a processor of AMD's, whose extensions QEMU emulates.
var withKVM = hosttest.Lift{Module: "kvm_amd"}

// noKVM says of an error that it means a kernel or a machine without KVM.
func noKVM(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) {
		return &host.Missing{What: "KVM", Config: "CONFIG_KVM and its module", Err: err}
	}
	return err
}

func TestStuckTrialGuestIsStopped(t *testing.T) {
	t.Parallel()
	d := newKVMDevice()
	hosttest.Needs(t, noKVM(d.Open()), withKVM)
	defer d.Close()
	if err := errors.Join(d.CreateVM(), d.CreateVCPU()); err != nil {
		t.Fatal(err)
	}
	d.trial = []byte{0xeb, 0xfe} // jumps to itself
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := d.Run(ctx); err == nil || time.Since(began) > 60*time.Second { // wait: of a processor that KVM runs
		t.Errorf("an endless guest: got %v after %v, want an error soon after the deadline", err, time.Since(began))
	}
}

func TestAGuestUnderKVMOpensTheDeviceOrSaysWhoMay(t *testing.T) {
	t.Parallel()
	groups, denied := deviceGroups(kernel(), kvmPath)
	if errors.Is(denied, fs.ErrNotExist) {
		hosttest.Needs(t, noKVM(denied), withKVM)
	}
	c := emulators(t)[0].minimal()
	c.Accel = Option{Head: "kvm"}
	p, err := Start(t.Context(), kernel(), spec(t, c))
	if denied != nil {
		if err == nil || !strings.Contains(err.Error(), denied.Error()) {
			t.Errorf("got %v, want %v", err, denied)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer end(t, p)
	if got, want := status(t, p.PID(), "Groups")["Groups"], strings.Trim(fmt.Sprint(groups), "[]"); got != want {
		t.Errorf("groups %q, want %q", got, want)
	}
}
