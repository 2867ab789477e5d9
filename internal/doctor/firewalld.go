package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"taproom/internal/host/sysbus"
	"taproom/internal/network/firewall/firewalld"
)

// firewalldWithin is how long firewalld may take to say what it has.
const firewalldWithin = 2 * time.Second

// checkFirewalld reports whether firewalld runs, and what of guests' networks it knows: it rejects what bridges outside of
// their zones forward.
func checkFirewalld(ctx context.Context, e Env) []Finding {
	bounded, cancel := context.WithTimeout(ctx, firewalldWithin)
	defer cancel()
	v, err := firewalld.View(bounded, e.Kernel, e.path(sysbus.DefaultSocket))
	switch {
	case err != nil:
		return []Finding{{"firewalld", Unknown, err.Error(), ""}}
	case v.Absent != "":
		return []Finding{{"firewalld", OK, v.Absent, ""}}
	case !v.Installed:
		return []Finding{{
			"firewalld", OK, fmt.Sprintf("runs; it has no zone %s yet: the first network makes it, and has firewalld reload once, which forgets what was set at run time alone", firewalld.Zone),
			"",
		}}
	}
	in := "no bridge"
	if len(v.Bridges) > 0 {
		in = strings.Join(v.Bridges, ", ")
	}
	return []Finding{{"firewalld", OK, fmt.Sprintf("runs; in its zone %s: %s", firewalld.Zone, in), ""}}
}

// firewalldOwner is who made the chains that are firewalld's.
const firewalldOwner = "firewalld"

// firewalldRuns reports whether the one that made them is there to be told of bridges.
func firewalldRuns(ctx context.Context, e Env) bool {
	bounded, cancel := context.WithTimeout(ctx, firewalldWithin)
	defer cancel()
	v, err := firewalld.View(bounded, e.Kernel, e.path(sysbus.DefaultSocket))
	return err == nil && v.Absent == ""
}
