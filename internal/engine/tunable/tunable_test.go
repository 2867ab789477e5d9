package tunable_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"taproom/internal/api/remote"
	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/engine/tunable"
	"taproom/internal/spec"
)

func sets() []server.TunableSet {
	return []server.TunableSet{server.TunableScheduler, server.TunableMemory, server.TunableBlockIO, server.TunableNUMA}
}

// values are some that a parameter can have.
func values(p server.Param) []server.Param {
	var out []server.Param
	number := func(n ...uint64) {
		for _, v := range n {
			q := p
			q.N = v
			out = append(out, q)
		}
	}
	minus := ^uint64(0)
	switch {
	case p.Field == "cpu_shares", p.Field == "weight":
		number(1, 100, 10000)
	case p.Field == "numa_mode":
		number(0, 1, 2, 3)
	case p.Type == remote.ParamInt64:
		number(minus, 1000, 250000)
	case p.Type == remote.ParamUint64:
		number(1000, 500000)
	case p.Field == "numa_nodeset":
		out = []server.Param{remote.StringParam(p.Field, "0"), remote.StringParam(p.Field, "0-1")}
	default:
		out = []server.Param{remote.StringParam(p.Field, "/dev/a,7"), remote.StringParam(p.Field, "/dev/a,8,/dev/b,9")}
	}
	return out
}

// What is written is read, in whatever order, and writing it again changes nothing.
func TestWhatIsWrittenIsRead(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := &spec.Domain{}
		set := rapid.SampledFrom(sets()).Draw(t, "set")
		want := map[string]server.Param{}
		for _, p := range tunable.Read(set, d, false) {
			want[p.Field] = p
		}
		for range rapid.IntRange(1, 6).Draw(t, "writes") {
			p := rapid.SampledFrom(tunable.Read(set, d, false)).Draw(t, "parameter")
			p = rapid.SampledFrom(values(p)).Draw(t, "value")
			if p.Type == remote.ParamString && p.Field != "numa_nodeset" { // adds to what was said of other disks
				if err := tunable.Write(set, d, []server.Param{remote.StringParam(p.Field, "/dev/a,0,/dev/b,0")}); err != nil {
					t.Fatal(err)
				}
			}
			if err := tunable.Write(set, d, []server.Param{p}); err != nil {
				t.Fatalf("%+v: %v", p, err)
			}
			want[p.Field] = p
		}
		got := tunable.Read(set, d, false)
		for _, p := range got {
			if p != want[p.Field] {
				t.Errorf("got %+v, want %+v", p, want[p.Field])
			}
		}
		before := string(d.Format())
		var again []server.Param
		for _, p := range got {
			if p.Field != "numa_nodeset" || p.S != "" {
				if p.Field != "cpu_shares" || p.N != 0 {
					again = append(again, p)
				}
			}
		}
		if set == server.TunableNUMA && d.NUMATune.Memory.Mode == "" {
			return // a mode that was not said is the first
		}
		if err := tunable.Write(set, d, again); err != nil || string(d.Format()) != before {
			t.Errorf("written again: %v (-was +is):\n%s", err, cmp.Diff(before, string(d.Format())))
		}
	})
}

func TestParametersThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		set   server.TunableSet
		param server.Param
		code  virterr.Code
	}{
		{server.TunableScheduler, remote.Uint64Param("weight", 1), virterr.ArgumentUnsupported},
		{server.TunableScheduler, remote.IntParam("cpu_shares", 1), virterr.InvalidArg},
		{server.TunableScheduler, remote.Uint64Param("cpu_shares", 0), virterr.InvalidArg},
		{server.TunableScheduler, remote.Uint64Param("vcpu_period", 999), virterr.InvalidArg},
		{server.TunableScheduler, remote.Uint64Param("global_period", 1000001), virterr.InvalidArg},
		{server.TunableScheduler, remote.Int64Param("emulator_quota", 999), virterr.InvalidArg},
		{server.TunableMemory, remote.Uint64Param("min_guarantee", 1), virterr.ArgumentUnsupported},
		{server.TunableBlockIO, remote.UintParam("weight", 10001), virterr.InvalidArg},
		{server.TunableBlockIO, remote.StringParam("device_weight", "/dev/a"), virterr.InvalidArg},
		{server.TunableBlockIO, remote.StringParam("device_weight", "/dev/a,-1"), virterr.InvalidArg},
		{server.TunableBlockIO, remote.StringParam("device_weight", "a,1"), virterr.InvalidArg},
		{server.TunableNUMA, remote.IntParam("numa_mode", 4), virterr.InvalidArg},
		{server.TunableNUMA, remote.IntParam("numa_mode", -1), virterr.InvalidArg},
		{server.TunableNUMA, remote.StringParam("numa_nodeset", " "), virterr.InvalidArg},
	} {
		var known *virterr.Error
		if err := tunable.Write(c.set, &spec.Domain{}, []server.Param{c.param}); !errors.As(err, &known) || known.Code != c.code {
			t.Errorf("%+v: %v, want error %d", c.param, err, c.code)
		}
	}
}

// A domain of which nothing is said is as the kernel has it when it runs, and its definition says nothing.
func TestWhatNobodySaidIsTheKernels(t *testing.T) {
	t.Parallel()
	show := func(live bool) string {
		out := ""
		for _, set := range sets() {
			for _, p := range tunable.Read(set, &spec.Domain{}, live) {
				out += fmt.Sprintf("%s=%d%s ", p.Field, int64(p.N), p.S)
			}
		}
		return out
	}
	const rest = "hard_limit=9007199254740991 soft_limit=9007199254740991 swap_hard_limit=9007199254740991 weight=%d " +
		"device_weight=0 device_read_iops_sec=0 device_write_iops_sec=0 device_read_bytes_sec=0 device_write_bytes_sec=0 numa_mode=0 numa_nodeset=0 "
	live := "cpu_shares=100 vcpu_period=100000 vcpu_quota=-1 emulator_period=100000 emulator_quota=-1 global_period=100000 global_quota=-1 iothread_period=100000 iothread_quota=-1 "
	config := "cpu_shares=0 vcpu_period=0 vcpu_quota=0 emulator_period=0 emulator_quota=0 global_period=0 global_quota=0 iothread_period=0 iothread_quota=0 "
	if got, want := show(true), live+fmt.Sprintf(rest, 100); got != want {
		t.Errorf("live: got %s\nwant %s", got, want)
	}
	if got, want := show(false), config+fmt.Sprintf(rest, 0); got != want {
		t.Errorf("defined: got %s\nwant %s", got, want)
	}
}

// What is taken back leaves nothing behind.
func TestElementsThatSayNothingAnyMoreAreTakenOut(t *testing.T) {
	t.Parallel()
	d := &spec.Domain{}
	empty := string(d.Format())
	write := func(set server.TunableSet, p ...server.Param) {
		t.Helper()
		if err := tunable.Write(set, d, p); err != nil {
			t.Fatal(err)
		}
	}
	write(server.TunableScheduler, remote.Uint64Param("vcpu_period", 5000), remote.Int64Param("global_quota", -7))
	write(server.TunableMemory, remote.Uint64Param("soft_limit", 1024))
	write(server.TunableBlockIO, remote.UintParam("weight", 10), remote.StringParam("device_weight", "/dev/a,5"))
	if string(d.Format()) == empty {
		t.Fatal("nothing was written")
	}
	write(server.TunableScheduler, remote.Uint64Param("vcpu_period", 0), remote.Int64Param("global_quota", 0))
	write(server.TunableMemory, remote.Uint64Param("soft_limit", 9007199254740991))
	write(server.TunableBlockIO, remote.UintParam("weight", 0), remote.StringParam("device_weight", "/dev/a,0"))
	if diff := cmp.Diff(empty, string(d.Format())); diff != "" {
		t.Errorf("left:\n%s", diff)
	}
}

// The event tells what the guest is bound to now, under its own names, and has none for memory and disks.
func TestAChangeIsToldByTheNamesOfTheEvent(t *testing.T) {
	t.Parallel()
	d := &spec.Domain{}
	params := []server.Param{remote.Int64Param("vcpu_quota", -9), remote.Uint64Param("cpu_shares", 50)}
	if err := tunable.Write(server.TunableScheduler, d, params); err != nil {
		t.Fatal(err)
	}
	want := []server.Param{remote.Uint64Param("cputune.cpu_shares", 50), remote.Int64Param("cputune.vcpu_quota", -1)}
	if diff := cmp.Diff(want, tunable.Changed(server.TunableScheduler, d, params)); diff != "" {
		t.Error(diff)
	}
	if got := tunable.Changed(server.TunableMemory, d, []server.Param{remote.Uint64Param("hard_limit", 5)}); got != nil {
		t.Errorf("of memory: %v", got)
	}
}
