package host

import "testing"

func TestTheRoomOfACgroupIsItsLimitWithoutWhatIsInUse(t *testing.T) {
	for _, c := range []struct {
		limit, current, stat string
		want                 MemoryRoom
		fails                bool
	}{
		{limit: "max", current: "5", want: MemoryRoom{}},
		{limit: "1000", current: "400", stat: "anon 300\ninactive_file 100\nactive_file 7\n", want: MemoryRoom{Total: 1000, Available: 700}},
		{limit: "1000", current: "1500", want: MemoryRoom{Total: 1000}},
		{limit: "1000", current: "100", stat: "inactive_file 200\n", want: MemoryRoom{Total: 1000, Available: 1000}},
		{limit: "0", current: "0", want: MemoryRoom{Total: 1}}, // a limit all the same
		{limit: "much", current: "0", fails: true},
		{limit: "1", current: "", fails: true},
	} {
		got, err := parseCgroupRoom(c.limit, c.current, c.stat)
		if got != c.want || err != nil != c.fails {
			t.Errorf("limit %q, current %q, stat %q: got %+v, %v, want %+v", c.limit, c.current, c.stat, got, err, c.want)
		}
	}
}

func TestTheRoomIsTheLeastOfTheMachinesAndItsCgroups(t *testing.T) {
	machine := MemoryRoom{Total: 100, Available: 50}
	for _, c := range []struct{ limit, want MemoryRoom }{
		{MemoryRoom{}, machine},
		{MemoryRoom{Total: 200, Available: 20}, MemoryRoom{100, 20}},
		{MemoryRoom{Total: 10, Available: 0}, MemoryRoom{10, 0}},
	} {
		if got := machine.within(c.limit); got != c.want {
			t.Errorf("%+v within %+v is %+v, want %+v", machine, c.limit, got, c.want)
		}
	}
}

func TestTheMachineHasMemory(t *testing.T) {
	k := New(Options{})
	defer k.Close()
	r, err := k.MemoryRoom()
	if err != nil || r.Total == 0 || r.Available > r.Total {
		t.Fatalf("got %+v, %v", r, err)
	}
}
