package pool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"taproom/internal/appliance/admission"
	"taproom/internal/host"
	"taproom/internal/qemu/emutest"
)

// piped is a clone whose parcel is the writing end of a pipe: whoever has it can be heard.
type piped struct {
	double
	read, write *os.File
}

func newPiped(context.Context) (*piped, error) {
	p := &piped{double: double{gone: make(chan struct{})}}
	var err error
	p.read, p.write, err = os.Pipe()
	return p, err
}

func (p *piped) Hand(context.Context) (*Parcel, error) {
	return &Parcel{Facts: json.RawMessage(`{"memory":128}`), Files: []*os.File{p.write}}, nil
}

func (p *piped) Close() error {
	p.write.Close() // a second time where it was handed out
	return p.double.Close()
}

// serve runs a server over a stock, and returns its socket and a channel with what Serve returned.
func serve(t *testing.T, k *host.Kernel, s *Stock, idle time.Duration) (socket string, ended chan error) {
	t.Helper()
	dir, err := os.MkdirTemp("", "pool") // a short path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket = filepath.Join(dir, "pool.sock")
	f, err := k.ListenUnix(socket, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l, err := net.FileListener(f)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended = make(chan error, 1)
	server := &Server{Kernel: k, Listener: l, Stock: s, Idle: idle, Leave: func() { _ = k.Remove(socket) }}
	done := make(chan struct{})
	go func() {
		defer close(done)
		ended <- server.Serve(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return socket, ended
}

func kernel(t *testing.T) *host.Kernel {
	t.Helper()
	k := host.New(host.Options{})
	t.Cleanup(k.Close)
	return k
}

func TestAnApplianceIsItsOwnersAlone(t *testing.T) {
	k, w := kernel(t), newWorld()
	made := make(chan *piped, 4)
	s := NewStock(t.Context(), StockConfig{Make: func(ctx context.Context) (Clone, error) {
		p, err := newPiped(ctx)
		made <- p
		return p, err
	}, Room: w.room, Memory: 128 * mib, Size: 1, Launchers: 1, Look: w.look})
	t.Cleanup(s.Close)
	eventually(t, s, "full", full(1))
	socket, _ := serve(t, k, s, 0)
	c, parcel, err := take(t.Context(), k, socket, false)
	if err != nil || len(parcel.Files) != 1 || string(parcel.Facts) != `{"memory":128}` {
		t.Fatalf("%+v, %v", parcel, err)
	}
	mine := <-made
	if st := s.Status(); st.Ready != 0 || st.Launching != 0 || st.Lent != 1 {
		t.Errorf("%+v: the pool works while its client does", st)
	}
	c.Close()
	eventually(t, s, "refilled when the client is done", full(1))
	// Nobody but the client has the pipe's end: when it closes that, the other end hears of it.
	parcel.Close()
	if err := mine.read.SetReadDeadline(time.Now().Add(emutest.Patience())); err != nil {
		t.Fatal(err)
	}
	if n, err := mine.read.Read(make([]byte, 1)); n != 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read %d bytes, %v: somebody else holds the appliance", n, err)
	}
	mine.read.Close()
}

func TestAClientThatIsGoneKeepsNoAppliance(t *testing.T) {
	k, w := kernel(t), newWorld()
	w.gate = make(chan struct{})
	s := w.stock(t, 0, 1)
	socket, _ := serve(t, k, s, 0)
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan error, 1)
	go func() {
		_, _, err := take(ctx, k, socket, false)
		got <- err
	}()
	eventually(t, s, "it waits", func(st Status) bool { return st.Waiting == 1 })
	cancel()
	if err := <-got; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	eventually(t, s, "the pool has seen that", func(st Status) bool { return st.Waiting == 0 })
}

func TestRefusalsKeepTheirKind(t *testing.T) {
	k, w := kernel(t), newWorld()
	w.available = 1024 * mib
	s := w.stock(t, 1, 1)
	socket, _ := serve(t, k, s, 0)
	_, _, err := take(t.Context(), k, socket, false)
	var no *admission.NoRoom
	if !errors.As(err, &no) || no.Room.Available != 1024*mib {
		t.Errorf("got %v", err)
	}
	s.Close()
	if _, _, err := take(t.Context(), k, socket, false); !errors.Is(err, ErrEnding) {
		t.Errorf("of a pool that ends: %v", err)
	}
	if _, _, err := take(t.Context(), k, socket+"x", false); !errors.Is(err, ErrNoPool) {
		t.Errorf("of no pool: %v", err)
	}
}

func TestAPoolEndsWhenItIsToldAndWhenNobodyAsks(t *testing.T) {
	k := kernel(t)
	s := newWorld().stock(t, 1, 1)
	socket, ended := serve(t, k, s, 0)
	if st, err := StatusOf(t.Context(), k, socket); err != nil || st.PID != os.Getpid() {
		t.Errorf("%+v, %v", st, err)
	}
	if err := stop(t.Context(), k, socket); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(socket); !os.IsNotExist(err) {
		t.Errorf("its socket's name is left: %v", err)
	}
	if err := <-ended; err != nil {
		t.Errorf("told to end: %v", err)
	}
	_, ended = serve(t, k, s, time.Millisecond)
	if err := <-ended; err != nil {
		t.Errorf("asked by nobody: %v", err)
	}
}

func TestAPoolIsNotHeldUpByNonsense(t *testing.T) {
	k := kernel(t)
	s := newWorld().stock(t, 1, 1)
	socket, _ := serve(t, k, s, 0)
	for _, nonsense := range []string{"\n", "{}\n", `{"protocol":1,"handed":1,"op":"dance"}` + "\n", `{"protocol":2,"handed":1,"op":"take"}` + "\n", "{}\n{}\n", strings.Repeat("x", 2*mostLine)} {
		c, err := k.DialUnix(t.Context(), socket)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.SetDeadline(time.Now().Add(emutest.Patience())); err != nil {
			t.Fatal(err)
		}
		_, _ = c.Write([]byte(nonsense)) // the pool may hang up before it has read all of it
		var r reply
		if _, err := receive(k, c, &r); err == nil && r.Error == "" {
			t.Errorf("%.20q was answered with %+v", nonsense, r)
		}
		c.Close()
	}
	if _, err := StatusOf(t.Context(), k, socket); err != nil {
		t.Error(err)
	}
}

func FuzzReceive(f *testing.F) {
	f.Add([]byte(`{"op":"take","wait":true}` + "\n"))
	f.Add([]byte(`{"no_room":{"Room":{"Total":1}}}` + "\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		k := host.New(host.Options{})
		defer k.Close()
		ours, theirs, err := k.SocketPair()
		if err != nil {
			t.Fatal(err)
		}
		defer ours.Close()
		c, err := net.FileConn(theirs)
		theirs.Close()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := ours.Write(b[:min(len(b), 32<<10)]); err != nil {
			t.Fatal(err)
		}
		ours.Close()
		var r reply
		if files, err := receive(k, c, &r); err == nil {
			_ = r.err()
			if len(files) != 0 {
				t.Errorf("%d descriptors out of nothing", len(files))
			}
		}
	})
}

func TestWhoWaitsWhenThePoolEndsMayAskTheNextOne(t *testing.T) {
	k, w := kernel(t), newWorld()
	w.gate = make(chan struct{})
	s := w.stock(t, 1, 1)
	socket, ended := serve(t, k, s, 0)
	got := make(chan error, 1)
	go func() {
		_, _, err := take(t.Context(), k, socket, true)
		got <- err
	}()
	eventually(t, s, "it waits", func(st Status) bool { return st.Waiting == 1 })
	if err := stop(t.Context(), k, socket); err != nil {
		t.Fatal(err)
	}
	if err := <-got; !errors.Is(err, ErrEnding) {
		t.Errorf("got %v, want ErrEnding", err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestOfPoolsThatStartAtATimeOneServes(t *testing.T) {
	k := kernel(t)
	dir, err := os.MkdirTemp("", "pool") // a short path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	place := Place{Dir: filepath.Join(dir, "run"), Key: "k"}
	for round := range 5 {
		ctx, cancel := context.WithCancel(t.Context())
		const n = 6
		ready, ended := make(chan struct{}, n), make(chan error, n)
		for range n {
			go func() {
				ended <- Run(ctx, Config{Kernel: k, Order: Order{QEMU: "/bin/false"}, Place: place, Ready: func() error {
					ready <- struct{}{}
					return nil
				}})
			}()
		}
		for range n - 1 {
			if err := <-ended; !errors.Is(err, ErrServed) {
				t.Errorf("round %d: %v, want ErrServed", round, err)
			}
		}
		<-ready
		if _, err := StatusOf(t.Context(), k, place.Socket()); err != nil {
			t.Errorf("round %d: %v", round, err)
		}
		if len(ready) != 0 {
			t.Errorf("round %d: %d more serve", round, len(ready))
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(place.Socket()); !os.IsNotExist(err) {
			t.Errorf("round %d: its socket's name is left: %v", round, err)
		}
		// What was killed leaves a socket and a log, and the next one takes them away.
		leaveTraces(t, k, place.Dir, fmt.Sprintf("pool-former-%d", round), time.Hour)
	}
	if left, _ := filepath.Glob(filepath.Join(place.Dir, "pool-former-*")); len(left) != 2 || !strings.Contains(left[0], "former-4") {
		t.Errorf("%q are left, want those of the last round", left)
	}
}

// leaveTraces makes what a pool that was killed leaves. Its log was begun so long ago.
func leaveTraces(t *testing.T, k *host.Kernel, dir, name string, ago time.Duration) {
	t.Helper()
	f, err := k.ListenUnix(filepath.Join(dir, name+".sock"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	log := filepath.Join(dir, name+".log")
	if err := os.WriteFile(log, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	began := time.Now().Add(-ago)
	if err := os.Chtimes(log, began, began); err != nil {
		t.Fatal(err)
	}
}
