package firewall_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"taproom/internal/host/nft"
	"taproom/internal/network/firewall"
)

// What others do to the tables is told with who it was; what is done by the firewall itself, and to other tables, is not.
func TestWhatOthersDoToTheTablesIsNoticed(t *testing.T) {
	t.Parallel()
	ns, c := open(t)
	ns.Keep("table ip taproom", "table ip other")
	f := firewall.New(c, firewall.DefaultTable)
	ctx, cancel := context.WithCancel(t.Context())
	who := make(chan string, 100)
	var over sync.WaitGroup
	over.Go(func() {
		if err := firewall.NewGroup(f).Watch(ctx, func(name string) { who <- name }); err != nil {
			t.Error(err)
		}
	})
	next := func() string {
		t.Helper()
		select {
		case name := <-who:
			return name
		case <-time.After(60 * time.Second):
			t.Fatal("nothing is told")
			return ""
		}
	}
	want := "nft" // in a container, where the numbers are of another namespace
	if nft.TellsPIDs() {
		want = "nft (process "
	}
	if begins := next(); begins != "" {
		t.Errorf("it begins with %q", begins)
	}
	for _, damage := range []string{
		"nft delete element ip taproom bridges '{ virbr0 }'", "nft flush chain ip taproom forward", "nft delete table ip taproom",
		"nft flush ruleset",
	} {
		apply(t, f, network("virbr0", "192.168.1.0", 24), nil)
		ns.Shell("nft add table ip other; nft add chain ip other x; " + damage)
		if name := next(); !strings.HasPrefix(name, want) {
			t.Errorf("%s was done by %q", damage, name)
		}
	}
	cancel()
	over.Wait()
	if len(who) > 0 {
		t.Errorf("it was also told of %q", <-who)
	}
}
