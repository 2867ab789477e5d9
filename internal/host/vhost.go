package host

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// VHostNet is the device by which a NIC's packets pass through the kernel without waking QEMU. Opening it loads the module
// where there is one (devname:vhost-net).
const VHostNet = "/dev/vhost-net"

// setOwner is VHOST_SET_OWNER, _IO(0xAF, 0x01) of linux/vhost.h: the kernel makes the worker of the device for the caller.
const setOwner = 0xaf01

// ProbeVHostNet tries whether vhost-net works: nil, *Missing where the kernel has none or its module is not loaded, or an
// error that says what is in the way. What it makes goes with the descriptor.
func (k *Kernel) ProbeVHostNet() error {
	k.Step("vhost probe")
	f, err := os.OpenFile(VHostNet, os.O_RDWR|unix.O_CLOEXEC, 0)
	for _, none := range []unix.Errno{unix.ENOENT, unix.ENODEV, unix.ENXIO} {
		if errors.Is(err, none) {
			return &Missing{What: "vhost-net", Config: "the module vhost_net (modprobe vhost_net; CONFIG_VHOST_NET)", Err: err}
		}
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), setOwner, 0); errno != 0 {
		return fmt.Errorf("%s: VHOST_SET_OWNER: %w", VHostNet, errno)
	}
	return nil
}

// VHostWorkers counts the kernel's workers that move packets for a process: its own threads since Linux 6.4, and before
// that threads of the kernel, which the kernel puts into the process's cgroup (a path below CgroupRoot; "" is not looked at).
func (k *Kernel) VHostWorkers(pid int, cgroup string) (int, error) {
	name := []byte("vhost-" + strconv.Itoa(pid) + "\n")
	n, err := k.vhostThreads(pid, name)
	if err != nil || n > 0 || cgroup == "" {
		return n, err
	}
	pids, err := k.CgroupProcs(cgroup)
	if err != nil {
		return 0, err
	}
	for _, p := range pids {
		comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", p))
		if err == nil && bytes.Equal(comm, name) { // one that just ended is none
			n++
		}
	}
	return n, nil
}

func (k *Kernel) vhostThreads(pid int, name []byte) (int, error) {
	k.Step("vhost workers")
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/[0-9]*/comm", pid))
	if err != nil {
		return 0, err
	}
	return len(slices.DeleteFunc(files, func(f string) bool {
		comm, err := os.ReadFile(f)
		return err != nil || !bytes.Equal(comm, name)
	})), nil
}
