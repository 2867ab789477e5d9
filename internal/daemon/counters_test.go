package daemon

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"testing"

	"taproom/internal/api/own"
	"taproom/internal/host"
)

func TestCounters_AreServedUntilTheDaemonEnds(t *testing.T) {
	t.Parallel()
	o := Options{Counters: filepath.Join(t.TempDir(), "counters")}
	counter := o.counter()
	k := host.New(host.Options{Counter: counter})
	defer k.Close()
	stop, err := serveCounters(k, o.Counters, counter)
	if err != nil {
		t.Fatal(err)
	}
	read := func() (c own.Counters) {
		conn, err := net.Dial("unix", o.Counters)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := json.NewDecoder(conn).Decode(&c); err != nil {
			t.Fatal(err)
		}
		return c
	}
	before := read()
	k.Step("link get")
	if after := read(); after.Calls["link get"] != before.Calls["link get"]+1 || after.Allocated <= before.Allocated {
		t.Errorf("after one call and a reading %+v, before %+v", after, before)
	}
	if st, err := os.Stat(o.Counters); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v, %v; want mode 0600", st, err)
	}
	stop()
	if _, err := os.Stat(o.Counters); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
}

func TestCounters_AreNotServedUnasked(t *testing.T) {
	t.Parallel()
	var o Options
	k := host.New(host.Options{Counter: o.counter(), Hook: func(call string) { t.Errorf("call %q", call) }})
	defer k.Close()
	stop, err := serveCounters(k, o.Counters, o.counter())
	if err != nil {
		t.Fatal(err)
	}
	stop()
}
