package nft_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"taproom/internal/host/hosttest"
	"taproom/internal/host/nft"
	"taproom/internal/host/nft/nfttest"
)

// watching runs a watch until the test ends, and gives what it tells as text.
func watching(t *testing.T, c *nft.Conn) <-chan string {
	t.Helper()
	w, err := c.Watch()
	if err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 100_000)
	ctx, cancel := context.WithCancel(t.Context())
	var run sync.WaitGroup
	run.Go(func() {
		err := w.Run(ctx, func(changes []nft.Change, missed bool) {
			for _, c := range changes {
				lines <- fmt.Sprintf("%s: %s", c.Name, tables(c))
			}
			if missed {
				lines <- "missed"
			}
		})
		if err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); run.Wait() })
	return lines
}

func tables(c nft.Change) string {
	var names []string
	for _, t := range c.Tables {
		names = append(names, t.Family.String()+" "+t.Name)
	}
	return strings.Join(names, ", ")
}

// told waits until the watch has told want, and nothing else before it.
func told(t *testing.T, lines <-chan string, want string) {
	t.Helper()
	select {
	case line := <-lines:
		if line != want {
			t.Fatalf("%q is told, want %q", line, want)
		}
	case <-time.After(60 * time.Second):
		t.Fatalf("%q is not told", want)
	}
}

func run(t *testing.T, ns *hosttest.NS, commands ...string) {
	t.Helper()
	for _, c := range commands {
		ns.Shell("nft '" + c + "'")
	}
}

func TestChangesThatOthersMakeAreTold(t *testing.T) {
	t.Parallel()
	ns, c := open(t)
	ours := withElements()
	ours.Add(nft.Table{Family: nft.IPv6, Name: nfttest.TableName})
	lines := watching(t, c)
	commit := func(x *nft.Transaction) {
		t.Helper()
		if err := c.Commit(t.Context(), x); err != nil {
			t.Fatal(err)
		}
	}
	commit(ours)
	run(t, ns, "delete element ip suite bridges { virbr0 }")
	told(t, lines, "nft: ip suite")
	commit(other(nft.IPv4))
	run(t, ns, "flush chain ip suite forward")
	told(t, lines, "nft: ip suite")
	run(t, ns, "add chain ip other x; add rule ip other x accept")
	told(t, lines, "nft: ip other")
	run(t, ns, "flush ruleset")
	told(t, lines, "nft: ip suite, ip6 suite, ip other")
	commit(withElements())
	run(t, ns, "add table inet last")
	told(t, lines, "nft: inet last")
}

// Whoever does not read for too long is told that something was missed, and what comes then.
func TestAWatchOfTablesSaysThatItMissedSomething(t *testing.T) {
	t.Parallel()
	ns, c := open(t)
	w, err := c.Watch()
	if err != nil {
		t.Fatal(err)
	}
	x := &nft.Transaction{}
	s := nft.Set{Family: nft.IPv4, Table: "big", Name: "addresses", Type: "ipv4_addr"}
	x.Add(nft.Table{Family: nft.IPv4, Name: "big"})
	x.Add(s)
	var keys []string
	for n := range 20_000 {
		keys = append(keys, fmt.Sprintf("10.0.%d.%d", n/200, n%200))
	}
	x.Add(nft.Elements{Set: s, Keys: keys})
	if err := c.Commit(t.Context(), x); err != nil {
		t.Fatal(err)
	}
	for range 6 { // each tells 40,000 elements
		x := &nft.Transaction{}
		x.Flush(s)
		x.Add(nft.Elements{Set: s, Keys: keys})
		if err := c.Commit(t.Context(), x); err != nil {
			t.Fatal(err)
		}
	}
	missed, after := make(chan bool, 1), make(chan bool, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var over sync.WaitGroup
	over.Go(func() {
		err := w.Run(ctx, func(changes []nft.Change, lost bool) {
			if lost {
				missed <- true
			}
			for _, c := range changes {
				if c.Touches(nft.IPv4, "later") {
					after <- true
				}
			}
		})
		if err != nil {
			t.Error(err)
		}
	})
	for _, told := range []chan bool{missed, after} {
		select {
		case <-told:
		case <-time.After(60 * time.Second):
			t.Fatal("it is not told")
		}
		if told == missed {
			run(t, ns, "add table ip later")
		}
	}
	cancel()
	over.Wait()
}

// The process that did it can be found.
func TestAChangeSaysWhoMadeIt(t *testing.T) {
	t.Parallel()
	ns, c := open(t)
	w, err := c.Watch()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("nft", "add table ip new")
	if err := ns.Start(cmd); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	who := ""
	err = w.Run(ctx, func(changes []nft.Change, _ bool) { who = changes[0].Who(); cancel() })
	want := "nft"
	if nft.TellsPIDs() {
		want = fmt.Sprintf("nft (process %d)", pid)
	}
	if err != nil || who != want {
		t.Errorf("it was %q (%v), want %q", who, err, want)
	}
	if (nft.Change{}).Who() != "" {
		t.Error("nobody has a name")
	}
}

// In a container the number would be that of another process, or of none.
func TestInANamespaceOfProcessesAChangeHasANameAndNoNumber(t *testing.T) {
	t.Parallel()
	if !nft.TellsPIDs() {
		return // TestAChangeSaysWhoMadeIt is in one already
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("unshare", "--pid", "--fork", "--kill-child", "--mount-proc", self, "-test.v", "-test.run=^TestAChangeSaysWhoMadeIt$").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestAChangeSaysWhoMadeIt") {
		t.Errorf("%v\n%s", err, out)
	}
}
