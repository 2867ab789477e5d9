package host

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// CopyTap takes a copy of the descriptor by which another process has a tap open, so that a frame can be sent as that
// process would. ErrNoLink when it has none of that name open. The copy is to be closed.
func (k *Kernel) CopyTap(p *PIDFD, name string) (*os.File, error) {
	k.Step("tap copy")
	dir := fmt.Sprintf("/proc/%d/", p.PID)
	entries, err := os.ReadDir(dir + "fdinfo")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		b, err := os.ReadFile(dir + "fdinfo/" + e.Name())
		if err != nil || !strings.Contains(string(b), "iff:\t"+name+"\n") {
			continue // closed meanwhile, or something else
		}
		n, _ := strconv.Atoi(e.Name()) // the kernel writes numbers
		fd := -1
		if cerr := p.control(func(process int) { fd, err = unix.PidfdGetfd(process, n, 0) }); cerr != nil {
			return nil, cerr
		}
		if err != nil {
			return nil, fmt.Errorf("copy descriptor %d of process %d, which is tap %s: %w", n, p.PID, name, err)
		}
		return os.NewFile(uintptr(fd), "tap "+name), nil
	}
	return nil, fmt.Errorf("process %d has no tap %s open: %w", p.PID, name, ErrNoLink)
}

// SendByTap puts frames in by a tap, as they would come from the guest behind it. They have full checksums and nothing is
// left to the other side, so the header that some taps want before each is zeros.
func (k *Kernel) SendByTap(f *os.File, frames ...[]byte) error {
	k.Step("tap send")
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var werr error
	err = raw.Control(func(fd uintptr) {
		var header int
		if header, werr = tapHeader(int(fd)); werr != nil {
			return
		}
		for _, frame := range frames {
			if _, werr = unix.Write(int(fd), append(make([]byte, header), frame...)); werr != nil {
				return
			}
		}
	})
	if err = errors.Join(err, werr); err != nil {
		return fmt.Errorf("send a frame by %s: %w", f.Name(), err)
	}
	return nil
}

// tapHeader is how many bytes the tap wants before a frame.
func tapHeader(fd int) (int, error) {
	ifr, err := unix.NewIfreq("")
	if err != nil {
		return 0, err
	}
	if err := unix.IoctlIfreq(fd, unix.TUNGETIFF, ifr); err != nil {
		return 0, err
	}
	size := 0
	if ifr.Uint16()&unix.IFF_VNET_HDR != 0 {
		n, err := unix.IoctlGetInt(fd, unix.TUNGETVNETHDRSZ)
		if err != nil {
			return 0, err
		}
		b := binary.NativeEndian.AppendUint64(nil, uint64(n))
		size = int(binary.NativeEndian.Uint32(b)) // the kernel writes an int
	}
	if ifr.Uint16()&unix.IFF_NO_PI == 0 {
		size += 4
	}
	return size, nil
}
