package build

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/kernel"
	"taproom/internal/appliance/proto"
)

// answerWithin is how long a new kernel may take to its first answer. It takes a third of a second, emulated, on an idle host.
const answerWithin = 5 * time.Minute

// checkBoot boots a kernel in the smallest machine that an appliance runs in, emulated, and waits until its first process answers.
func checkBoot(ctx context.Context, agent []byte, image string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	initrd := filepath.Join(filepath.Dir(image), "check.cpio")
	f, err := os.Create(initrd)
	if err != nil {
		return err
	}
	err = layout(kernel.Kernel{}, agent).Build(ctx, f)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	ours, theirs, err := socketPair()
	if err != nil {
		return err
	}
	client := proto.NewClient(ours)
	defer func() { _ = client.Close() }()
	c := exec.CommandContext(ctx, "qemu-system-x86_64",
		"-M", "microvm,acpi=off,pit=on,pic=on,rtc=on,auto-kernel-cmdline=on,isa-serial=on", "-global", "virtio-mmio.force-legacy=false",
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-cpu", "max", "-accel", "tcg", "-m", fmt.Sprint(ownMemory),
		"-serial", "stdio", "-chardev", "socket,id=port,fd=3", "-device", "virtio-serial-device,id=vser",
		"-device", "virtserialport,bus=vser.0,chardev=port,name="+proto.PortName,
		"-kernel", image, "-initrd", initrd, "-append", strings.Join(coldCommandLine(true), " "),
	)
	var console bytes.Buffer
	c.Stdout, c.Stderr, c.ExtraFiles = &console, &console, []*os.File{theirs}
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // what ends the command ends it by ctx, and tells why
	err = c.Start()
	_ = theirs.Close()
	if err != nil {
		return fmt.Errorf("start QEMU: %w; install qemu-system-x86", err)
	}
	answered := client.Ping(ctx)
	cancel()
	_ = c.Wait() // killed
	if answered != nil {
		return fmt.Errorf("its first process does not answer: %w; on its console:\n%s", answered, bytes.TrimSpace(console.Bytes()))
	}
	return nil
}

// socketPair returns our end of a connection, and the other's.
func socketPair() (net.Conn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make a pair of sockets: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "port"), os.NewFile(uintptr(fds[1]), "port")
	defer func() { _ = ours.Close() }() // FileConn has a descriptor of its own
	conn, err := net.FileConn(ours)
	if err != nil {
		_ = theirs.Close()
		return nil, nil, err
	}
	return conn, theirs, nil
}
