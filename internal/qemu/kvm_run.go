package qemu

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// KVM's requests (linux/kvm.h, x86-64).
const (
	kvmGetAPIVersion       = 0xae00
	kvmCreateVM            = 0xae01
	kvmGetVCPUMmapSize     = 0xae04
	kvmCreateVCPU          = 0xae41
	kvmSetUserMemoryRegion = 0x4020ae46
	kvmRun                 = 0xae80
	kvmSetRegs             = 0x4090ae82
	kvmGetSregs            = 0x8138ae83
	kvmSetSregs            = 0x4138ae84

	kvmExitHLT  = 5
	kvmExitIntr = 10
)

// kvmLoops is how often the trial guest goes round: enough that a host which emulates it shows.
const kvmLoops = 10000

// realKVM is the kernel's.
type realKVM struct {
	dev, vm, vcpu int
	memory, run   []byte
	trial         []byte // what the guest executes
}

func newKVMDevice() *realKVM {
	return &realKVM{
		dev: -1, vm: -1, vcpu: -1,
		trial: []byte{0xb9, kvmLoops & 0xff, kvmLoops >> 8, 0xe2, 0xfe, 0xf4}, // mov cx, kvmLoops; loop to itself; hlt
	}
}

func ioctl(fd int, request uintptr, arg uintptr) (int, error) {
	for {
		r, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, arg)
		if errno == unix.EINTR && request != kvmRun {
			continue
		}
		if errno != 0 {
			return 0, errno
		}
		return int(r), nil
	}
}

// Open implements kvmDevice.
func (d *realKVM) Open() error {
	fd, err := unix.Open("/dev/kvm", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	d.dev = fd
	return nil
}

// APIVersion implements kvmDevice.
func (d *realKVM) APIVersion() (int, error) { return ioctl(d.dev, kvmGetAPIVersion, 0) }

// CreateVM implements kvmDevice.
func (d *realKVM) CreateVM() error {
	fd, err := ioctl(d.dev, kvmCreateVM, 0)
	if err != nil {
		return err
	}
	d.vm = fd
	unix.CloseOnExec(fd)
	return nil
}

// CreateVCPU implements kvmDevice.
func (d *realKVM) CreateVCPU() error {
	fd, err := ioctl(d.vm, kvmCreateVCPU, 0)
	if err != nil {
		return err
	}
	d.vcpu = fd
	unix.CloseOnExec(fd)
	return nil
}

// Run implements kvmDevice. KVM_RUN returns when its thread gets a signal, so the end of ctx sends one.
func (d *realKVM) Run(ctx context.Context) (time.Duration, error) {
	if err := d.load(); err != nil {
		return 0, err
	}
	type outcome struct {
		took time.Duration
		err  error
	}
	thread, over := make(chan int, 1), make(chan outcome, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		thread <- unix.Gettid()
		began := time.Now()
		err := d.enter(ctx)
		over <- outcome{time.Since(began), err}
	}()
	tid := <-thread
	select {
	case o := <-over:
		return o.took, o.err
	case <-ctx.Done():
	}
	d.run[1] = 1 // immediate_exit: also when the signal comes just before the guest is entered
	err := unix.Tgkill(os.Getpid(), tid, unix.SIGURG)
	o := <-over
	return o.took, errors.Join(o.err, err)
}

// load puts the trial guest into a page of its own at address 0x1000 and points the CPU there.
func (d *realKVM) load() error {
	page := os.Getpagesize()
	var err error
	if d.memory, err = unix.Mmap(-1, 0, page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS); err != nil {
		return err
	}
	copy(d.memory, d.trial)
	region := struct {
		slot, flags       uint32
		guest, size, host uint64
	}{guest: 0x1000, size: uint64(page), host: uint64(uintptr(unsafe.Pointer(&d.memory[0])))}
	if _, err = ioctl(d.vm, kvmSetUserMemoryRegion, uintptr(unsafe.Pointer(&region))); err != nil {
		return fmt.Errorf("give it memory: %w", err)
	}
	size, err := ioctl(d.dev, kvmGetVCPUMmapSize, 0)
	if err != nil {
		return err
	}
	if d.run, err = unix.Mmap(d.vcpu, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return err
	}
	var sregs [312]byte // struct kvm_sregs begins with cs: base (8), limit (4), selector (2), …
	if _, err = ioctl(d.vcpu, kvmGetSregs, uintptr(unsafe.Pointer(&sregs))); err != nil {
		return err
	}
	binary.LittleEndian.PutUint64(sregs[0:], 0)
	binary.LittleEndian.PutUint16(sregs[12:], 0)
	if _, err = ioctl(d.vcpu, kvmSetSregs, uintptr(unsafe.Pointer(&sregs))); err != nil {
		return err
	}
	regs := [18]uint64{16: 0x1000, 17: 2} // struct kvm_regs: …, rip, rflags
	if _, err = ioctl(d.vcpu, kvmSetRegs, uintptr(unsafe.Pointer(&regs))); err != nil {
		return fmt.Errorf("set its registers: %w", err)
	}
	return nil
}

// enter runs the guest until it halts.
func (d *realKVM) enter(ctx context.Context) error {
	for {
		_, err := ioctl(d.vcpu, kvmRun, 0)
		reason := binary.LittleEndian.Uint32(d.run[8:])
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("%w: %w", errKVMStuck, ctx.Err())
		case errors.Is(err, unix.EINTR) || err == nil && reason == kvmExitIntr: // the runtime's own signals
		case err != nil:
			return err
		case reason == kvmExitHLT:
			return nil
		default:
			return fmt.Errorf("it stopped for reason %d and not at its hlt", reason)
		}
	}
}

// Close implements kvmDevice.
func (d *realKVM) Close() error {
	var errs []error
	for _, m := range [][]byte{d.run, d.memory} {
		if m != nil {
			errs = append(errs, unix.Munmap(m))
		}
	}
	for _, fd := range []int{d.vcpu, d.vm, d.dev} {
		if fd >= 0 {
			errs = append(errs, unix.Close(fd))
		}
	}
	*d = *newKVMDevice()
	return errors.Join(errs...)
}
