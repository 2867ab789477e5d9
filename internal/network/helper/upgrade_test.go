package helper_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// gone checks that a process has ended. Ours are our children, so something of them stays until we end.
func (s *site) gone(pid int) {
	s.t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err == nil && !strings.Contains(string(b), ") Z ") {
		s.t.Errorf("process %d is there: %s", pid, b)
	}
}

func TestAHelperOfAnotherBuildMakesRoomWithoutAGap(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	index := s.serveDual(dual())
	g := s.guest6("virbr9", "52:54:00:09:00:03")
	signal, _ := g.udhcpc("-x", "hostname:alpha")
	g.want("deconfig")
	bound := g.hear()
	old := s.h.Hello().PID

	if err := s.h.Close(); err != nil {
		t.Fatal(err)
	}
	s.o.Build = "another"
	s.open()
	if s.h.Hello().PID == old || s.h.Adopted() {
		t.Fatalf("process %d of another build was kept", old)
	}
	late, err := s.h.Observe(s.ctx)
	if err != nil || len(late) != 1 || late[0].UUID != dual().UUID || late[0].Fingerprint != "" {
		t.Fatalf("before the network was set again it is observed as %+v, %v", late, err)
	}
	if got := g.dig("@10.9.0.1", "+short", "alpha.nine.test"); !strings.HasSuffix(bound, got) || got == "" {
		t.Errorf("the process that makes room answers %q", got)
	}
	// The daemon dies here; the next one finds both.
	if err := s.h.Close(); err != nil {
		t.Fatal(err)
	}
	s.o.Build = ""
	s.open()
	if late, err = s.h.Observe(s.ctx); err != nil || len(late) != 1 || late[0].Fingerprint != "" {
		t.Fatalf("the next daemon observes %+v, %v", late, err)
	}

	s.set(dual(), index)
	now, err := s.h.Observe(s.ctx)
	if err != nil || len(now) != 1 || now[0].Fingerprint != dual().Fingerprint() || now[0].Index != index {
		t.Errorf("afterwards it is observed as %+v, %v", now, err)
	}
	s.gone(old)
	if _, err := os.Stat(filepath.Join(s.o.Dir, "former.sock")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its socket is there: %v", err)
	}
	if got := g.dig("@fd00:9::1", "+short", "alpha.nine.test"); !strings.HasSuffix(bound, got) || got == "" {
		t.Errorf("the new process answers %q", got)
	}
	signal(renew)
	g.want("renew " + strings.TrimPrefix(bound, "bound "))
}

func TestANetworkThatIsNotWantedAnyMoreGoesWithTheFormerHelper(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.serveDual(dual())
	old := s.h.Hello().PID
	if err := s.h.Close(); err != nil {
		t.Fatal(err)
	}
	s.o.Build = "another"
	s.open()
	if err := s.h.Remove(s.ctx, dual().UUID); err != nil {
		t.Fatal(err)
	}
	if all, err := s.h.Observe(s.ctx); err != nil || len(all) != 0 {
		t.Errorf("observed %+v, %v", all, err)
	}
	s.gone(old)
}
