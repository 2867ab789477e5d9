package server_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/api/remote"
	"taproom/internal/api/server/servertest"
	"taproom/internal/api/xdr"
	"taproom/internal/host/hosttest"
)

// shown is a client of a guest that runs.
func shown(t testing.TB) *wire {
	t.Helper()
	f := servertest.New()
	f.AddDomains(1)
	w := opened(t, serve(t, f).Socket)
	w.must(remote.ProcDomainCreate, &guest, &xdr.Void{})
	return w
}

// withFDs is a call that announces n descriptors.
func withFDs(t testing.TB, procedure uint32, n int, args xdr.Value) []byte {
	t.Helper()
	h := callHeader(procedure, 7)
	h.Type = remote.CallWithFDs
	b, err := remote.AppendWithFDs(nil, h, n, args)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// sendFile sends a descriptor as libvirt does, with a byte of its own.
func (w *wire) sendFile(fds ...int) error {
	_, _, err := w.nc.(*net.UnixConn).WriteMsgUnix([]byte{0}, unix.UnixRights(fds...), nil)
	return err
}

// pair is two connected sockets.
func pair(t testing.TB) (a, b *os.File) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	a, b = os.NewFile(uintptr(fds[0]), "a"), os.NewFile(uintptr(fds[1]), "b")
	t.Cleanup(func() { _ = a.Close(); _ = b.Close() })
	_ = b.SetReadDeadline(time.Now().Add(hosttest.Patience))
	return a, b
}

// heard reads to the end of a socket: until nobody has the other side any more.
func heard(t testing.TB, f *os.File) string {
	t.Helper()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatalf("the other side is still open after %q: %v", b, err)
	}
	return string(b)
}

var display = &remote.DomainUintFlags{Domain: guest}

// The descriptor belongs to the call, even where it comes with the bytes of a call before.
func TestADescriptorComesWithACall(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]int{"alone": 0, "behind a call": 1, "behind calls": 40} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := shown(t)
			a, b := pair(t)
			var all []byte
			for range before {
				m, err := remote.Append(nil, callHeader(remote.ProcConnectGetHostname, 3), &xdr.Void{})
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, m...)
			}
			w.write(append(all, withFDs(t, remote.ProcDomainOpenGraphics, 1, display)...))
			if err := w.sendFile(int(a.Fd())); err != nil {
				t.Fatal(err)
			}
			_ = a.Close()
			for range before {
				if h, _ := w.message(); h.Serial != 3 || h.Status != remote.OK {
					t.Fatalf("a call before: %+v", h)
				}
			}
			if h, body := w.message(); h.Serial != 7 || h.Type != remote.Reply || h.Status != remote.OK {
				t.Fatalf("got %+v %v", h, w.failure(body))
			}
			if got := heard(t, b); got != "hello" {
				t.Errorf("the display said %q", got)
			}
			w.must(remote.ProcConnectGetHostname, &xdr.Void{}, &remote.String{})
		})
	}
}

func TestADescriptorGoesWithAReply(t *testing.T) {
	t.Parallel()
	w := shown(t)
	var yes remote.Int
	w.must(remote.ProcConnectSupportsFeature, &remote.Int{N: 8}, &yes)
	if yes.N != 1 {
		t.Error("the server does not say that it passes descriptors")
	}
	w.send(callHeader(remote.ProcDomainOpenGraphicsFD, 7), display)
	h, body := w.message()
	if h.Type != remote.ReplyWithFDs || h.Status != remote.OK || !bytes.Equal(body, []byte{0, 0, 0, 1}) {
		t.Fatalf("got %+v %v", h, body)
	}
	oob := make([]byte, unix.CmsgSpace(4))
	n, oobn, _, _, err := w.nc.(*net.UnixConn).ReadMsgUnix(make([]byte, 16), oob)
	if err != nil || n != 1 {
		t.Fatalf("behind the message came %d bytes: %v", n, err)
	}
	msgs, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil || len(msgs) != 1 {
		t.Fatalf("with %d control messages: %v", len(msgs), err)
	}
	fds, err := unix.ParseUnixRights(&msgs[0])
	if err != nil || len(fds) != 1 {
		t.Fatalf("and descriptors %v: %v", fds, err)
	}
	f := os.NewFile(uintptr(fds[0]), "display")
	defer f.Close()
	if got, err := io.ReadAll(f); string(got) != "hello" || err != nil {
		t.Errorf("the display said %q, %v", got, err)
	}
	w.must(remote.ProcConnectGetHostname, &xdr.Void{}, &remote.String{})
}

// Whatever a client sends, its descriptors are not kept.
func TestDescriptorsThatNobodyAskedForAreClosed(t *testing.T) {
	t.Parallel()
	hostname := callHeader(remote.ProcConnectGetHostname, 3)
	for _, c := range []struct {
		name  string
		send  func(w *wire, fd int) error
		stays bool // the connection goes on
	}{
		{"without a message", func(w *wire, fd int) error {
			for range remote.MaxFDs + 1 {
				if err := w.sendFile(fd); err != nil {
					return err
				}
			}
			return nil
		}, false},
		{"too many at once", func(w *wire, fd int) error {
			return w.sendFile(bytesOf(fd, remote.MaxFDs+1)...)
		}, false},
		{"too many announced", func(w *wire, fd int) error {
			w.write(withFDs(w.t, remote.ProcDomainOpenGraphics, remote.MaxFDs+1, display))
			return w.sendFile(fd)
		}, false},
		{"fewer than announced", func(w *wire, fd int) error {
			w.write(withFDs(w.t, remote.ProcDomainOpenGraphics, 2, display))
			if err := w.sendFile(fd); err != nil {
				return err
			}
			w.write([]byte{0})
			return nil
		}, false},
		{"announced without a number", func(w *wire, fd int) error {
			h := callHeader(remote.ProcDomainOpenGraphics, 7)
			h.Type = remote.CallWithFDs
			w.write(remote.AppendRaw(nil, h, nil))
			return w.sendFile(fd)
		}, false},
		{"for a call that takes none", func(w *wire, fd int) error {
			w.write(withFDs(w.t, remote.ProcConnectGetHostname, 1, &xdr.Void{}))
			return w.sendFile(fd)
		}, true},
		{"for a call that is not there", func(w *wire, fd int) error {
			w.write(withFDs(w.t, 9999, 1, &xdr.Void{}))
			return w.sendFile(fd)
		}, true},
		{"for a call whose arguments are wrong", func(w *wire, fd int) error {
			w.write(withFDs(w.t, remote.ProcDomainOpenGraphics, 1, &xdr.Void{}))
			return w.sendFile(fd)
		}, true},
		{"two for a call that takes one", func(w *wire, fd int) error {
			w.write(withFDs(w.t, remote.ProcDomainOpenGraphics, 2, display))
			return errors.Join(w.sendFile(fd), w.sendFile(fd))
		}, true},
		{"for a sign of life", func(w *wire, fd int) error {
			h := remote.Header{Program: remote.ProgramKeepalive, Version: 1, Procedure: remote.KeepalivePing, Type: remote.CallWithFDs}
			b, err := remote.AppendWithFDs(nil, h, 1, &xdr.Void{})
			w.write(b)
			err = errors.Join(err, w.sendFile(fd))
			w.send(hostname, &xdr.Void{})
			return err
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := shown(t)
			a, b := pair(t)
			if err := c.send(w, int(a.Fd())); err != nil && !errors.Is(err, unix.EPIPE) {
				t.Fatal(err)
			}
			_ = a.Close()
			if c.stays {
				_, _ = w.message()
				w.must(remote.ProcConnectGetHostname, &xdr.Void{}, &remote.String{})
			} else {
				for {
					if _, _, err := w.receive(); err != nil {
						break
					}
				}
			}
			if got := heard(t, b); got != "" {
				t.Errorf("something said %q", got)
			}
		})
	}
}

func bytesOf(fd, n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = fd
	}
	return out
}

// FuzzDescriptors sends pieces of bytes, some with descriptors. The server answers or hangs up, keeps none, and serves others.
func FuzzDescriptors(f *testing.F) {
	call := withFDs(f, remote.ProcDomainOpenGraphics, 1, display)
	f.Add(append([]byte{byte(len(call)), 0}, append(call, 1, 1, 0)...))
	f.Add([]byte{3, 33, 0, 0, 1})
	f.Add(append([]byte{28, 2}, call[:28]...))
	fake := servertest.New()
	fake.AddDomains(1)
	d := serve(f, fake)
	f.Fuzz(func(t *testing.T, script []byte) {
		w := opened(t, d.Socket)
		a, b := pair(t)
		u := w.nc.(*net.UnixConn)
		for len(script) >= 2 {
			n, fds := min(int(script[0])+1, len(script)-2), int(script[1])%64
			piece := script[2 : 2+n]
			script = script[2+n:]
			if len(piece) == 0 {
				break
			}
			var oob []byte
			if fds > 0 {
				oob = unix.UnixRights(bytesOf(int(a.Fd()), fds)...)
			}
			if _, _, err := u.WriteMsgUnix(piece, oob, nil); err != nil {
				break // it hung up
			}
		}
		_ = a.Close()
		_ = u.CloseWrite()
		if got := heard(t, b); strings.ReplaceAll(got, "hello", "") != "" {
			t.Errorf("something said %q", got)
		}
		_ = u.Close()
		var name remote.String
		opened(t, d.Socket).must(remote.ProcConnectGetHostname, &xdr.Void{}, &name)
	})
}

// The number of descriptors is behind the header, as libvirt writes it.
func TestTheNumberOfDescriptorsIsBehindTheHeader(t *testing.T) {
	t.Parallel()
	b := withFDs(t, remote.ProcDomainOpenGraphics, 3, display)
	if got := binary.BigEndian.Uint32(b[remote.HeaderSize:]); got != 3 || int(binary.BigEndian.Uint32(b)) != len(b) {
		t.Errorf("%d descriptors, length %d of %d", got, binary.BigEndian.Uint32(b), len(b))
	}
}
