package qemu

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
)

// KVM says whether guests should use it, why, and what was found out on the way.
type KVM struct {
	Usable   bool     `json:"usable"`
	Reason   string   `json:"reason"`   // one sentence, with a remedy when it is not usable
	Evidence []string `json:"evidence"` // what was tried and what came of it
}

// kvmDevice is /dev/kvm as the probe uses it. Each call builds on the ones before.
type kvmDevice interface {
	Open() error
	APIVersion() (int, error)
	CreateVM() error
	CreateVCPU() error
	// Run executes a small real-mode loop that ends with hlt, and returns how long that took.
	Run(ctx context.Context) (time.Duration, error)
	Close() error
}

// kvmAPI is the only version there ever was (Documentation/virt/kvm/api.rst).
const kvmAPI = 12

// kvmRunTime bounds the trial run: natively it takes about a millisecond.
const kvmRunTime = 2 * time.Second

// errKVMStuck means that the trial guest did not come to its end.
var errKVMStuck = errors.New("the trial guest did not finish")

// ProbeKVM finds out whether KVM is of use by using it: the device, a machine, a CPU, a few instructions. That is not
// enough, because some hosts offer a /dev/kvm without hardware behind it, on which guests crawl: so the processor must
// also say that it virtualises (vmx or svm). And a guest's user must be able to open it. It changes nothing and leaves
// nothing.
func ProbeKVM(ctx context.Context, k *host.Kernel) KVM {
	k.Step("kvm probe")
	b, err := k.ReadFile("/proc/cpuinfo")
	var access error
	if os.Geteuid() == 0 { // anybody else has opened it as the guests will
		_, access = deviceGroups(k, kvmPath)
	}
	return probeKVM(ctx, newKVMDevice(), virtualisation(string(b)), err, access)
}

// virtualisation returns which of vmx and svm a /proc/cpuinfo shows.
func virtualisation(cpuinfo string) []string {
	var found []string
	for line := range strings.Lines(cpuinfo) {
		name, value, _ := strings.Cut(line, ":")
		if strings.TrimSpace(name) != "flags" {
			continue
		}
		for _, f := range strings.Fields(value) {
			if (f == "vmx" || f == "svm") && !slices.Contains(found, f) {
				found = append(found, f)
			}
		}
	}
	return found
}

func probeKVM(ctx context.Context, d kvmDevice, flags []string, flagsErr, access error) KVM {
	var r KVM
	note := func(format string, args ...any) { r.Evidence = append(r.Evidence, fmt.Sprintf(format, args...)) }
	if err := d.Open(); err != nil {
		note("open /dev/kvm: %v", err)
		r.Reason = openReason(err)
		return r
	}
	defer func() {
		if err := d.Close(); err != nil {
			note("close /dev/kvm: %v", err)
		}
	}()
	note("/dev/kvm opens")
	reached, err := tryKVM(ctx, d, note)
	if err != nil {
		r.Reason = fmt.Sprintf("/dev/kvm %s, but %v: use type='qemu', or look for KVM in the kernel's log", reached, err)
		return r
	}
	switch {
	case flagsErr != nil:
		note("read /proc/cpuinfo: %v", flagsErr)
		r.Reason = fmt.Sprintf("/dev/kvm %s, but the processor's flags cannot be read (%v): use type='qemu'", reached, flagsErr)
	case len(flags) == 0:
		note("/proc/cpuinfo shows neither vmx nor svm")
		r.Reason = fmt.Sprintf("/dev/kvm %s, but the processor shows neither vmx nor svm: guests would run at a crawl; use type='qemu', "+
			"or turn on (nested) virtualisation below this host", reached)
	case access != nil:
		note("%v", access)
		r.Reason = fmt.Sprintf("/dev/kvm %s, but %v; use type='qemu' otherwise", reached, access)
	default:
		note("/proc/cpuinfo shows %s", strings.Join(flags, " and "))
		r.Usable = true
		r.Reason = fmt.Sprintf("/dev/kvm %s and the processor shows %s", reached, strings.Join(flags, " and "))
	}
	return r
}

// tryKVM goes as far as it can. reached completes "/dev/kvm …".
func tryKVM(ctx context.Context, d kvmDevice, note func(string, ...any)) (reached string, err error) {
	reached = "opens"
	version, err := d.APIVersion()
	if err != nil {
		note("KVM_GET_API_VERSION: %v", err)
		return reached, fmt.Errorf("it does not answer (KVM_GET_API_VERSION: %w)", err)
	}
	note("KVM_GET_API_VERSION: %d", version)
	if version != kvmAPI {
		return reached, fmt.Errorf("it speaks version %d and not %d", version, kvmAPI)
	}
	if err := d.CreateVM(); err != nil {
		note("KVM_CREATE_VM: %v", err)
		return reached, fmt.Errorf("it creates no machine (KVM_CREATE_VM: %w)", err)
	}
	note("KVM_CREATE_VM: works")
	if err := d.CreateVCPU(); err != nil {
		note("KVM_CREATE_VCPU: %v", err)
		return "creates a machine", fmt.Errorf("it creates no CPU (KVM_CREATE_VCPU: %w)", err)
	}
	note("KVM_CREATE_VCPU: works")
	reached = "opens and creates a vCPU"
	ctx, cancel := context.WithTimeout(ctx, kvmRunTime)
	defer cancel()
	took, err := d.Run(ctx)
	if err != nil {
		note("KVM_RUN: %v", err)
		return reached, fmt.Errorf("it does not run it (KVM_RUN: %w)", err)
	}
	note("KVM_RUN: %d loops and a hlt in %v", kvmLoops, took.Round(10*time.Microsecond))
	return reached, nil
}

func openReason(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "there is no /dev/kvm: load kvm_intel or kvm_amd, or turn on virtualisation in the firmware; use type='qemu' otherwise"
	case errors.Is(err, fs.ErrPermission):
		return "/dev/kvm exists but may not be opened: add the user to its group; use type='qemu' otherwise"
	case errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENXIO):
		return "/dev/kvm exists but has no driver behind it: load kvm_intel or kvm_amd; use type='qemu' otherwise"
	}
	return fmt.Sprintf("/dev/kvm cannot be opened (%v): use type='qemu'", err)
}
