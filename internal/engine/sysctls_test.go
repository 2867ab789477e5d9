package engine

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/engine/store"
	"taproom/internal/host"
	"taproom/internal/host/hosttest"
	"taproom/internal/network/state"
)

func TestSettingsOfTheMachineAreWrittenDownAndThoseOfOurLinksAreNot(t *testing.T) {
	t.Parallel()
	k := host.New(host.Options{})
	defer k.Close()
	e := &Engine{log: slog.New(slog.DiscardHandler)}
	var err error
	if e.sysctls.Store, err = store.Open[changedSysctl](k, t.TempDir(), true); err != nil {
		t.Fatal(err)
	}
	err = e.writeDown(state.Plan{
		state.SetSysctl{Path: "net/ipv6/conf/virbr0/accept_ra", Value: "0", OfOurs: true},
		state.SetSysctl{Path: "net/ipv6/conf/eth0.7/accept_ra", Value: "2", Old: "1"},
		state.SetSysctl{Path: state.ForwardIPv6, Value: "1", Old: "0"},
		state.SetSysctl{Path: "net/ipv4/ip_forward", Value: "1", Old: "1"},
		state.SetAlias{},
	})
	if err != nil {
		t.Fatal(err)
	}
	items, damaged, err := e.sysctls.Load()
	if err != nil || len(damaged) > 0 {
		t.Fatal(damaged, err)
	}
	got := map[string]string{}
	for _, i := range items {
		got[i.Head.Path] = i.Head.Old + " to " + i.Head.New
	}
	want := map[string]string{"net/ipv6/conf/eth0.7/accept_ra": "1 to 2", state.ForwardIPv6: "0 to 1"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("written down (-want +got):\n%s", d)
	}
}

// A setting whose old value nobody would know any more is not changed.
func TestASettingThatCannotBeWrittenDownIsNotChanged(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	e := small(t)
	e.k, e.fabric = ns.Kernel(), &fabric{}
	dir := filepath.Join(t.TempDir(), "sysctls")
	var err error
	if e.sysctls.Store, err = store.Open[changedSysctl](e.k, dir, true); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	want := state.State{Sysctls: map[string]string{"net/ipv4/ip_forward": "1"}}
	if _, err := e.converge(t.Context(), want, want.Scope()); !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), "change setting net/ipv4/ip_forward from 0 to 1: ") {
		t.Errorf("%v", err)
	}
	if v, err := e.k.Sysctl("net/ipv4/ip_forward"); v != "0" || err != nil {
		t.Errorf("it is %q, %v", v, err)
	}
}
