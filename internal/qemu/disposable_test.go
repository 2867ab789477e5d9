package qemu

import (
	"net"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// disposable is what a disposable QEMU is started with, and the other end of its leash.
func disposable(t *testing.T, e emulator) (DisposableSpec, *os.File) {
	t.Helper()
	ours, theirs, err := kernel().SocketPair()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		t.Fatal(err)
	}
	leash, held, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { held.Close() })
	c := e.minimal()
	c.Disposable = true
	c.Chardevs = []Chardev{{ID: "monitor", Backend: "socket", Props: Props{{"fd", FD("monitor")}}}}
	c.Flags = []Flag{{"-mon", Option{Props: Props{{"chardev", "monitor"}, {"mode", "control"}}}}}
	return DisposableSpec{
		Launcher: launcher(t), Config: c, Files: map[string]*os.File{"monitor": theirs},
		Confinement: Confinement{UID: testUID, GID: testUID}, Leash: leash, Words: func() string { return "words" }, Monitor: conn,
	}, held
}

func TestADisposableQEMUEndsWithItsLeash(t *testing.T) {
	t.Parallel()
	for _, e := range emulators(t) {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			s, held := disposable(t, e)
			p, err := StartDisposable(t.Context(), kernel(), s)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			want := map[string]string{"NoNewPrivs": "1", "Seccomp": "2", "CapEff": none}
			if d := cmp.Diff(want, status(t, p.PID(), "NoNewPrivs", "Seccomp", "CapEff")); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			var state struct{ Running bool }
			if err := p.QMP().Execute(t.Context(), "query-status", nil, &state); err != nil || !state.Running {
				t.Errorf("its guest runs: %v (%v)", state.Running, err)
			}
			if err := held.Close(); err != nil {
				t.Fatal(err)
			}
			if exit, err := p.Wait(t.Context()); err != nil || exit.Signal != 9 {
				t.Errorf("%v (%v), want SIGKILL", exit, err)
			}
		})
	}
}

func TestADisposableQEMUThatDiesSaysWhy(t *testing.T) {
	t.Parallel()
	s, _ := disposable(t, emulators(t)[0])
	s.Config.Extra = []string{"-none"}
	_, err := StartDisposable(t.Context(), kernel(), s)
	if want := "QEMU ended before it was ready: " + s.Config.Binary + ": exit status 1; it said: words"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	s, _ = disposable(t, emulators(t)[0])
	s.Config.Devices = []Props{{{"driver", "x"}, {"fd", FD("missing")}}}
	if _, err := StartDisposable(t.Context(), kernel(), s); err == nil {
		t.Error("it was started without a file that its command line names")
	}
}
