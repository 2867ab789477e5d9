package cli_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFiltersAreListedAndCounted(t *testing.T) {
	t.Parallel()
	f, root, _ := pretend(t)
	f.AddDomains(1)
	for _, c := range []struct {
		args []string
		want said
	}{
		{[]string{"ls"}, said{out: `FILTER         FROM     NICS  REFERS TO
clean-traffic  taproom  1     no-mac-spoofing

GUEST  MAC                LINK   FILTER         VALUES             LEARNED
web    52:54:00:00:00:01  vnet0  clean-traffic  IP=192.168.122.17  -
`}},
		{[]string{"show", "guest0000"}, said{out: `NIC 52:54:00:00:00:01 on vnet0: clean-traffic
values  IP=192.168.122.17
chain root
`}},
		{[]string{"show", "none"}, said{code: 1, err: "taproom: Domain not found: no domain with matching name 'none'\n"}},
		{[]string{"stats"}, said{out: `LINKS  CHAIN  FILTER           RULE  PACKETS  BYTES  WHAT IT SAYS
vnet0  mac    no-mac-spoofing  2     3        180    drop out mac
`}},
		{[]string{"explain", "guest0000", "--tcp", "x"}, said{out: "NIC 52:54:00:00:00:01 on vnet0: clean-traffic\na frame with x\n"}},
		{[]string{"explain", "guest0000", "--in", "--tcp", "x"}, said{code: 1, out: "NIC 52:54:00:00:00:01 on vnet0: clean-traffic\na frame with x\n"}},
		{[]string{"count"}, said{code: 2, err: "taproom: there is no command \"count\"; see taproom --help\n"}},
	} {
		got := run(t, nil, append([]string{"--root", root, "filter"}, c.args...)...)
		if d := cmp.Diff(c.want, got, cmp.AllowUnexported(said{})); d != "" {
			t.Errorf("%v (-want +got):\n%s", c.args, d)
		}
	}
}
