package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/api/remote"
	"taproom/internal/api/server"
	"taproom/internal/api/server/servertest"
	"taproom/internal/api/xdr"
	"taproom/internal/host/hosttest"
)

// console opens a console of a running guest under serial 7 and returns the guest's end.
func console(t *testing.T) (w *wire, guestEnd net.Conn) {
	t.Helper()
	f := servertest.New()
	f.AddDomains(1)
	ends := make(chan net.Conn, 1)
	f.Console = func() (io.ReadWriteCloser, error) {
		a, b := net.Pipe()
		ends <- b
		return a, nil
	}
	w = opened(t, serve(t, f).Socket)
	w.must(remote.ProcDomainCreate, &guest, &xdr.Void{})
	w.must(remote.ProcDomainOpenConsole, &remote.DomainOptStringFlags{Domain: guest}, &xdr.Void{})
	guestEnd = <-ends
	t.Cleanup(func() { _ = guestEnd.Close() })
	_ = guestEnd.SetDeadline(time.Now().Add(hosttest.Patience))
	return w, guestEnd
}

func streamHeader(status uint32) remote.Header {
	h := callHeader(remote.ProcDomainOpenConsole, 7)
	h.Type, h.Status = remote.Stream, status
	return h
}

func TestFinishAndAbortOfAStreamAreConfirmedAndCloseTheConsole(t *testing.T) {
	t.Parallel()
	for _, status := range []uint32{remote.OK, remote.Failed} {
		w, guestEnd := console(t)
		w.write(remote.AppendRaw(nil, streamHeader(status), nil))
		if h, body := w.message(); h != streamHeader(remote.OK) || len(body) != 0 {
			t.Errorf("status %d is answered with %+v and %d bytes", status, h, len(body))
		}
		if _, err := guestEnd.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("console is still open: %v", err)
		}
		w.write(remote.AppendRaw(nil, streamHeader(remote.Continue), []byte("late"))) // dropped
		w.must(remote.ProcConnectGetHostname, &xdr.Void{}, &remote.String{})
	}
}

func TestGuestThatGoesAwayEndsTheStreamWithAnEmptyMessage(t *testing.T) {
	t.Parallel()
	w, guestEnd := console(t)
	if _, err := guestEnd.Write([]byte("bye")); err != nil {
		t.Fatal(err)
	}
	_ = guestEnd.Close()
	if h, body := w.message(); h != streamHeader(remote.Continue) || string(body) != "bye" {
		t.Errorf("got %+v %q", h, body)
	}
	if h, body := w.message(); h != streamHeader(remote.Continue) || len(body) != 0 {
		t.Errorf("got %+v %q", h, body)
	}
}

func TestClientThatGoesAwayClosesItsConsoles(t *testing.T) {
	t.Parallel()
	w, guestEnd := console(t)
	_ = w.nc.Close()
	if _, err := guestEnd.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("console is still open: %v", err)
	}
}

func TestSecondStreamUnderOneSerialIsRefused(t *testing.T) {
	t.Parallel()
	w, guestEnd := console(t)
	err := w.call(remote.ProcDomainOpenConsole, &remote.DomainOptStringFlags{Domain: guest}, &xdr.Void{})
	if err == nil || !strings.Contains(err.Error(), "serial 7 has a stream already") {
		t.Errorf("got %v", err)
	}
	w.write(remote.AppendRaw(nil, streamHeader(remote.Continue), []byte("x")))
	if n, err := guestEnd.Read(make([]byte, 4)); n != 1 || err != nil {
		t.Errorf("first stream is broken: %d, %v", n, err)
	}
}

// volumes is a backend that has every volume.
type volumes struct {
	*servertest.Fake
	ends chan net.Conn
}

func (v volumes) OpenVolume(context.Context, string, string, uint64, uint64, bool) (io.ReadWriteCloser, error) {
	a, b := net.Pipe()
	v.ends <- b
	return a, nil
}

func TestAVolumeIsClosedWhenThereIsNoStreamForIt(t *testing.T) {
	t.Parallel()
	for _, procedure := range []uint32{remote.ProcStorageVolUpload, remote.ProcStorageVolDownload} {
		f := volumes{servertest.New(), make(chan net.Conn, 2)}
		w := opened(t, servertest.Serve(t, server.Options{Backend: f}).Socket)
		w.must(procedure, &remote.VolumeSpan{}, &xdr.Void{})
		if err := w.call(procedure, &remote.VolumeSpan{}, &xdr.Void{}); err == nil || !strings.Contains(err.Error(), "has a stream already") {
			t.Errorf("got %v", err)
		}
		first, second := <-f.ends, <-f.ends
		_ = second.SetDeadline(time.Now().Add(hosttest.Patience))
		if _, err := second.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("procedure %d: the volume is still open: %v", procedure, err)
		}
		_ = first.Close()
	}
}

func TestVirshConsoleTypesAndLeavesOnItsEscape(t *testing.T) {
	t.Parallel()
	f := servertest.New()
	f.Console = func() (io.ReadWriteCloser, error) {
		echo := servertest.Echo()
		return greeting{io.MultiReader(strings.NewReader("login: "), echo), echo}, nil
	}
	d := servertest.Serve(t, server.Options{Backend: f})
	virsh(t, d.Socket, "define", "guest.xml")
	virsh(t, d.Socket, "start", "guest")
	terminal, tty := openPTY(t)
	cmd := exec.CommandContext(t.Context(), "virsh", "-c", "qemu+unix:///system?socket="+d.Socket, "console", "guest")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = tty.Close()
	expect := func(text string) {
		t.Helper()
		var got strings.Builder
		b := make([]byte, 1024)
		_ = terminal.SetReadDeadline(time.Now().Add(hosttest.Patience))
		for !strings.Contains(got.String(), text) {
			n, err := terminal.Read(b)
			got.Write(b[:n])
			if err != nil {
				t.Fatalf("wanted %q, got %q, %v", text, got.String(), err)
			}
		}
	}
	// virsh drops what is typed before: it makes the terminal raw after it said how to leave, and before it opens the console.
	expect("login: ")
	if _, err := terminal.Write([]byte("hello\r")); err != nil {
		t.Fatal(err)
	}
	expect("hello")
	if _, err := terminal.Write([]byte{0x1d}); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("virsh console: %v", err)
	}
}

// greeting is a console of a guest that speaks first.
type greeting struct {
	io.Reader
	io.WriteCloser
}

// openPTY returns both ends of a new pseudo-terminal.
func openPTY(t *testing.T) (terminal, tty *os.File) {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	terminal = os.NewFile(uintptr(fd), "/dev/ptmx")
	t.Cleanup(func() { _ = terminal.Close() })
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	return terminal, tty
}
