package launch

import (
	"slices"
	"strings"
	"testing"

	"taproom/internal/host"
)

// handedOver is a test of clones.
func handedOver(t *testing.T, l *Launcher) {
	first, err := l.Launch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h, err := first.HandOver()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.HandOver(); err == nil {
		t.Error("it was handed over twice")
	}
	second, err := Adopt(t.Context(), Spec{}, h)
	if err != nil {
		t.Fatal(err)
	}
	was, is := first.Info(), second.Info()
	if is.BootID != was.BootID || is.Hostname != was.Hostname {
		t.Errorf("greeted as %+v, it became %+v; want that it stays who it is", was, is)
	}
	if slices.Equal(is.Nonce, was.Nonce) || is.UnixNano <= was.UnixNano {
		t.Errorf("greeted as %+v and then as %+v, want other random numbers and a later time", was, is)
	}
	if err := second.Agent().Ping(t.Context()); err != nil {
		t.Error(err)
	}
	var status struct{ Running bool }
	if err := qemuOf(t, second).qemu.QMP().Execute(t.Context(), "query-status", nil, &status); err != nil || !status.Running {
		t.Errorf("its monitor: %+v, %v", status, err)
	}
	if err := first.Close(); err != nil { // lets go
		t.Error(err)
	}
	if err := second.Agent().Ping(t.Context()); err != nil {
		t.Errorf("after its first owner has let go: %v", err)
	}
	pid := second.PID()
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	k := host.New(host.Options{})
	defer k.Close()
	if p, err := k.OpenPID(pid, h.Facts.Start); err == nil {
		defer p.Close()
		if over, err := p.Exited(); !over || err != nil {
			t.Errorf("its QEMU lives on: %v", err)
		}
	}
}

// nobodyTakesOver is a test of clones.
func nobodyTakesOver(t *testing.T, l *Launcher) {
	a, err := l.Launch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	h, err := a.HandOver()
	if err != nil {
		t.Fatal(err)
	}
	h.Close()
	<-a.Exited()
}

// hadDisk is a test of clones.
func hadDisk(t *testing.T, l *Launcher) {
	a := launched(t, l)
	if _, err := a.Attach(t.Context(), Disk{Path: ext4(t)}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.HandOver(); err == nil || !strings.Contains(err.Error(), "it has had a disk") {
		t.Errorf("got %v", err)
	}
	if err := a.Agent().Ping(t.Context()); err != nil {
		t.Error(err)
	}
}
