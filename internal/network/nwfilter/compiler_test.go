package nwfilter

import (
	"fmt"
	"reflect"
	"runtime"
	"testing"

	"pgregory.net/rapid"
)

// A Compiler gives each NIC what Compile does, whatever it has compiled before, and one Program to NICs that share one.
func TestCompiler_AgreesWithCompile(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		set := anySet(t)
		c, programs := NewCompiler(set), map[string]*Program{}
		list := rapid.SliceOfN(rapid.SampledFrom([]string{"1", "2", "10.0.0.1", "fe80::1", "52:54:00:00:00:01", "x"}), 1, 3)
		for range rapid.IntRange(1, 6).Draw(t, "NICs") {
			p := Params{"ONE": list.Draw(t, "one")[:1], "LIST": list.Draw(t, "list")}
			if rapid.IntRange(0, 5).Draw(t, "without") == 0 {
				delete(p, "LIST")
			}
			want, values, err := Compile(set, "t", p)
			got, gotValues, gotErr := c.Compile("t", p)
			if fmt.Sprint(err) != fmt.Sprint(gotErr) {
				t.Fatalf("%v: error %v, want %v", p, gotErr, err)
			}
			if err != nil {
				continue
			}
			if got.Key != want.Key || got.String() != want.String() || !reflect.DeepEqual(gotValues, values) {
				t.Fatalf("%v: got\n%s%v\nwant\n%s%v", p, got, gotValues, want, values)
			}
			if same := programs[got.Key]; same != nil && same != got {
				t.Fatalf("%v: another Program of the same key", p)
			}
			programs[got.Key] = got
		}
	})
}

func TestCompiler_CompilesCleanTrafficOnce(t *testing.T) {
	t.Parallel()
	set, err := ShippedSet()
	if err != nil {
		t.Fatal(err)
	}
	c := NewCompiler(set)
	params := func(n int) Params {
		return Params{"MAC": {fmt.Sprintf("52:54:00:00:00:%02x", n)}, "IP": {fmt.Sprintf("10.0.0.%d", n)}}
	}
	first, _, err := c.Compile("clean-traffic", params(1))
	if err != nil {
		t.Fatal(err)
	}
	next, values, err := c.Compile("clean-traffic", params(2))
	if err != nil || next != first || string(values["IP/ipv4"][0]) != "\x0a\x00\x00\x02" {
		t.Errorf("the second NIC has a Program of its own, or values of the first: %v, %v", values, err)
	}
}

// A range of a NIC's own stands in the rules: its Program is of no use when that NIC has gone.
func TestCompiler_ForgetsProgramsOfNICsThatHaveGone(t *testing.T) {
	t.Parallel()
	c := NewCompiler(rules(t, "<rule action='accept' direction='in'><tcp srcipaddr='$IP' srcipmask='$MASK'/></rule>"))
	compile := func(n int) *Program {
		p, _, err := c.Compile("t", Params{"IP": {fmt.Sprintf("10.0.%d.0", n)}, "MASK": {"24"}})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	stays, other := compile(0), compile(1)
	if stays == other {
		t.Fatal("the values are not in the rules")
	}
	for n := range 200 {
		compile(n + 1)
		if n%50 == 0 {
			runtime.GC()
		}
	}
	if n := len(c.whole); n > 120 {
		t.Errorf("it keeps %d Programs, for two NICs", n)
	}
	if compile(0) != stays {
		t.Error("a NIC that is still there has another Program")
	}
	runtime.KeepAlive(other)
}
