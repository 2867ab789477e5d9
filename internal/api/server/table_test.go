package server

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/api/remote"
	"taproom/internal/api/virterr"
	"taproom/internal/api/xdr"
	"taproom/internal/spec"
)

func TestEveryProcedureIsBoundToTheTypesOfTheTable(t *testing.T) {
	t.Parallel()
	for number, p := range newPrograms() {
		for _, e := range p.entries {
			if e == nil {
				continue
			}
			if e.read == nil {
				t.Errorf("program %#x: nothing answers %s", number, e.Name)
				continue
			}
			args, err := xdr.Append(nil, e.NewArgs())
			if err != nil {
				t.Errorf("%s: encode zero arguments: %v", e.Name, err)
				continue
			}
			inv, err := e.read(args)
			if err != nil {
				t.Errorf("%s: its handler does not read the table's arguments: %v", e.Name, err)
				continue
			}
			b := reflect.ValueOf(inv).Elem()
			if got, want := b.FieldByName("a").Type(), reflect.TypeOf(e.NewArgs()).Elem(); got != want {
				t.Errorf("%s: handler takes %v, table says %v", e.Name, got, want)
			}
			if got, want := reflect.TypeOf(inv.result()), reflect.TypeOf(e.NewRet()); got != want {
				t.Errorf("%s: handler answers %v, table says %v", e.Name, got, want)
			}
		}
	}
}

func TestFlagsThatACallDoesNotTakeAreRefused(t *testing.T) {
	t.Parallel()
	p := newPrograms()[remote.ProgramRemote]
	limited := 0
	for _, e := range p.entries {
		if e == nil {
			continue
		}
		mask, ok := knownFlags(e.Number)
		if !ok {
			continue
		}
		limited++
		if _, flagged := e.NewArgs().(remote.Flagged); !flagged {
			t.Errorf("%s has no flags to limit", e.Name)
		}
		args, err := xdr.Append(nil, e.NewArgs())
		if err != nil {
			t.Fatal(err)
		}
		odd := ^mask
		for i := range 4 { // the flags come last
			args[len(args)-4+i] = byte(odd >> (24 - 8*i))
		}
		inv, err := e.read(args)
		if err != nil {
			t.Errorf("%s: %v", e.Name, err)
			continue
		}
		err = inv.run(&request{})
		want := fmt.Sprintf("invalid argument: unsupported flags (%#x) in function %s", odd, apiName(e.Name))
		if err == nil || err.Error() != want || virterr.CodeOf(err) != virterr.InvalidArg {
			t.Errorf("%s: %v, want %s", e.Name, err, want)
		}
	}
	if limited < 15 {
		t.Errorf("%d calls limit their flags, want more", limited)
	}
}

func TestErrorsAreMappedAtOnePlace(t *testing.T) {
	t.Parallel()
	coded := virterr.New(virterr.NoNetwork, "no network with matching name 'lan'")
	for _, c := range []struct {
		err     error
		code    virterr.Code
		domain  virterr.Domain
		message string
	}{
		{coded, 43, 19, "Network not found: no network with matching name 'lan'"},
		{fmt.Errorf("start domain web: %w", coded), 43, 19, "Network not found: start domain web: no network with matching name 'lan'"},
		{&spec.SyntaxError{Line: 3, Msg: "x"}, 35, 5, "XML error: " + (&spec.SyntaxError{Line: 3, Msg: "x"}).Error()},
		{fmt.Errorf("define: %w", &spec.InvalidError{Element: "name", Reason: "is empty"}), 27, 5, "XML error: define: " + (&spec.InvalidError{Element: "name", Reason: "is empty"}).Error()},
		{&spec.UnsupportedError{Element: "tpm", Reason: "no"}, 67, 10, "unsupported configuration: " + (&spec.UnsupportedError{Element: "tpm", Reason: "no"}).Error()},
		{context.Canceled, 78, 10, "operation aborted: the daemon is stopping: context canceled"},
		{context.DeadlineExceeded, 68, 10, "Timed out during operation: context deadline exceeded"},
		{errors.New("gap"), 1, 10, "internal error: gap"},
	} {
		got := wireError(c.err)
		if got.Code != int32(c.code) || got.Domain != int32(c.domain) || got.Message.S != c.message || got.Level != 2 {
			t.Errorf("%v:\ngot  %d %d %q\nwant %d %d %q", c.err, got.Code, got.Domain, got.Message.S, c.code, c.domain, c.message)
		}
	}
	if n := len(wireError(errors.New(strings.Repeat("x", 1<<20))).Message.S); n > maxErrorText+10 {
		t.Errorf("a huge error travels with %d bytes", n)
	}
}

func TestListFiltersAreGroups(t *testing.T) {
	t.Parallel()
	all := []Domain{
		{Name: "off", ID: -1, State: DomainShutoff, Persistent: true},
		{Name: "auto", ID: -1, State: DomainShutoff, Persistent: true, Autostart: true},
		{Name: "runs", ID: 1, State: DomainRunning, Persistent: true},
		{Name: "paused", ID: 2, State: DomainPaused},
		{Name: "dead", ID: -1, State: DomainCrashed, Persistent: true},
	}
	for flags, want := range map[uint32]string{
		0:                                "off auto runs paused dead",
		ListActive:                       "runs paused",
		ListInactive:                     "off auto dead",
		ListActive | ListInactive:        "off auto runs paused dead",
		ListTransient:                    "paused",
		ListPersistent | ListActive:      "runs",
		ListRunning | ListPaused:         "runs paused",
		ListOther:                        "dead",
		ListShutoff | ListAutostart:      "auto",
		ListNoAutostart | ListPersistent: "off runs dead",
		ListManagedsave:                  "",
		ListNoManagedsave | ListActive:   "runs paused",
		ListHasSnapshot:                  "",
		ListNoCheckpoint | ListTransient: "paused",
	} {
		var got []string
		for i := range all {
			if keepDomain(&all[i], flags) {
				got = append(got, all[i].Name)
			}
		}
		if d := cmp.Diff(want, strings.Join(got, " ")); d != "" {
			t.Errorf("flags %#x (-want +got):\n%s", flags, d)
		}
	}
}

// FuzzCalls feeds the readers of all calls any message: they read it whole or refuse it.
func FuzzCalls(f *testing.F) {
	for _, p := range remote.Procedures() {
		if b, err := remote.Append(nil, remote.Header{Program: remote.ProgramRemote, Version: 1, Procedure: p.Number}, p.NewArgs()); err == nil {
			f.Add(b)
		}
	}
	programs := newPrograms()
	f.Fuzz(func(t *testing.T, msg []byte) {
		if len(msg) < remote.HeaderSize {
			return
		}
		h := remote.ParseHeader(msg)
		p := programs[h.Program]
		if p == nil {
			return
		}
		e := p.find(h.Procedure)
		if e == nil {
			return
		}
		if inv, err := e.read(msg[remote.HeaderSize:]); err == nil && inv.result() == nil {
			t.Errorf("%s has no result", e.Name)
		}
	})
}
