package xtables_test

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"taproom/internal/host/hosttest"
	"taproom/internal/host/xtables"
)

func TestAFailureNamesTheLine(t *testing.T) {
	t.Parallel()
	for _, v := range []xtables.Variant{xtables.NFT, xtables.Legacy, xtables.HostChoice} {
		ns := hosttest.NewNS(t)
		ns.Keep("table ip filter")
		c := xtables.New(ns.Kernel(), v)
		err := c.Restore(t.Context(), false, "*filter\n:mine - [0:0]\n-A mine -i a -j nowhere\nCOMMIT\n")
		var e *xtables.Error
		if !errors.As(err, &e) || e.Exit.Code == 0 || e.Said == "" || !strings.HasPrefix(e.Program, c.Name(false)) {
			t.Errorf("%q: the error is %#v", v, err)
			continue
		}
		if e.Line != "" && !strings.Contains(e.Line, "nowhere") && e.Line != "COMMIT" {
			t.Errorf("%q: %v blames %q", v, err, e.Line)
		}
		text, err := c.Save(t.Context(), false)
		if err != nil || strings.Contains(text, "mine") {
			t.Errorf("%q: after the failure %v:\n%s", v, err, text)
		}
	}
}

func TestAProgramIsMissingOrNobodyWaitsForIt(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	if _, err := xtables.New(ns.Kernel(), "none").Save(t.Context(), true); !errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), "ip6tables-none-save") {
		t.Errorf("a missing program gave %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := xtables.New(ns.Kernel(), xtables.NFT).Save(ctx, false); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context gave %v", err)
	}
}
