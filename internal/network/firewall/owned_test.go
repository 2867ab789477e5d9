package firewall_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
	"taproom/internal/host/nft"
	"taproom/internal/network/firewall"
)

func openOwned(t *testing.T, b nft.Backend, own bool) *firewall.Firewall {
	t.Helper()
	f, err := firewall.Open(t.Context(), b, firewall.DefaultTable, own)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// end closes an owner's connection, and returns when the kernel has let go of its table as over says: a program that another
// test starts in this very moment may have the connection open until it is executed.
func end(t *testing.T, owner, somebody *nft.Conn, over func(*nft.Listing, error) bool) {
	t.Helper()
	if err := owner.Close(); err != nil {
		t.Fatal(err)
	}
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for late := time.After(time.Minute); ; {
		if over(somebody.Layout(t.Context(), nft.IPv4, firewall.DefaultTable)) {
			return
		}
		select {
		case <-again.C:
		case <-late:
			t.Fatal("the table still has its owner")
		}
	}
}

// Tables that are owned stay when somebody flushes all rules, and when their owner ends; the next one takes them over.
func TestOwnedTablesOutliveWhoeverFlushesAllAndTheirOwner(t *testing.T) {
	t.Parallel()
	ns, first := open(t)
	ns.Keep("table ip taproom")
	one := network("virbr0", "192.168.1.0", 24)
	f := openOwned(t, first, true)
	apply(t, f, one, nil)
	if l, err := first.Layout(t.Context(), nft.IPv4, firewall.DefaultTable); err != nil || l.Table.Flags != nft.Owned|nft.Persistent {
		apply(t, f, nil, one)
		hosttest.Needs(t, errors.Join(err, &host.Missing{What: "tables that persist", Config: "CONFIG_NF_TABLES"}), hosttest.Lift{Since: "6.12"})
	}
	ns.Run("nft", "add", "table", "ip", "other")
	ns.Run("nft", "flush", "ruleset")
	observed(t, f, one)
	if out, err := ns.Try("nft", "delete", "table", "ip", "taproom"); err == nil || !strings.Contains(err.Error(), "Operation not permitted") {
		t.Errorf("somebody else deletes the table: %s, %v", out, err)
	}

	second, err := nft.Open(ns.Kernel())
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	g := openOwned(t, second, true) // while the first is there, what it owns stays its own
	if err := g.Apply(t.Context(), network("virbr1", "192.168.2.0", 24), nil); !errors.Is(err, unix.EPERM) {
		t.Errorf("two own the table: %v", err)
	}
	ownerless := func(l *nft.Listing, err error) bool { return err == nil && l.Table.Flags == nft.Persistent }
	end(t, first, second, ownerless)
	g = openOwned(t, second, true)
	observed(t, g, one)
	ns.Run("nft", "flush", "ruleset")
	two := network("virbr1", "192.168.2.0", 24)
	apply(t, g, two, nil)
	observed(t, g, one, two)

	// Whoever does not want to own them makes them again in one go, and so does who wants to.
	third, err := nft.Open(ns.Kernel())
	if err != nil {
		t.Fatal(err)
	}
	defer third.Close()
	end(t, second, third, ownerless)
	for _, own := range []bool{false, true} {
		h := openOwned(t, third, own)
		observed(t, h)
		apply(t, h, append(one, two...), nil)
		observed(t, h, one, two)
	}
	apply(t, openOwned(t, third, true), nil, append(one, two...))
}

// A table of our name that somebody else owns goes with its owner, of which nf_tables does not count as changed.
func TestATableOfAnotherOwnerIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	ns, c := open(t)
	f := firewall.New(c, firewall.DefaultTable)
	one := network("virbr0", "192.168.1.0", 24)
	other, err := nft.Open(ns.Kernel())
	if err != nil {
		t.Fatal(err)
	}
	x := &nft.Transaction{}
	x.Add(nft.Table{Family: nft.IPv4, Name: firewall.DefaultTable, Flags: nft.Owned})
	if err := errors.Join(other.Commit(t.Context(), x), f.Apply(t.Context(), one, nil)); !errors.Is(err, unix.EPERM) {
		t.Errorf("somebody else owns the table: %v", err)
	}
	observed(t, f)
	end(t, other, c, func(_ *nft.Listing, err error) bool { return errors.Is(err, nft.ErrNoTable) }) // with its owner
	apply(t, f, one, nil)
	observed(t, f, one)
	apply(t, f, nil, one)
}

// The one in memory is taken over as the kernel's is, and one that somebody put to sleep is made again.
func TestATableThatNobodyOwnsIsTakenOver(t *testing.T) {
	t.Parallel()
	b := &nft.Fake{}
	one := network("virbr0", "192.168.1.0", 24)
	apply(t, openOwned(t, b, true), one, nil)
	text := b.String()
	if !strings.Contains(text, "\tflags owner,persist\n") {
		t.Fatalf("it is not owned:\n%s", text)
	}
	load := func(flags string) *nft.Fake {
		b := &nft.Fake{}
		if err := b.Load(strings.ReplaceAll(text, "flags owner,persist", flags)); err != nil {
			t.Fatal(err)
		}
		return b
	}
	b = load("flags persist")
	observed(t, openOwned(t, b, true), one)
	if got := b.String(); got != text {
		t.Errorf("it is not taken over:\n%s", got)
	}
	b = load("flags dormant")
	f := openOwned(t, b, true)
	observed(t, f)
	apply(t, f, one, nil)
	if got := b.String(); got != text {
		t.Errorf("it was put to sleep and is not made again:\n%s", got)
	}
}
