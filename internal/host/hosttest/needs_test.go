package hosttest

import (
	"errors"
	"fmt"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
)

// told is a test that tells what became of it.
type told struct {
	testing.TB
	said string
}

func (t *told) Helper() {}
func (t *told) Skipf(format string, args ...any) {
	t.said = "skip: " + fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (t *told) Fatalf(format string, args ...any) {
	t.said = "fail: " + fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (t *told) Fatal(args ...any) {
	t.said = "fail: " + fmt.Sprint(args...)
	runtime.Goexit()
}

func TestASkipNamesTheKernelThatLiftsItAndIsAFailureThere(t *testing.T) { // not parallel: it sets the environment
	missing := fmt.Errorf("tried: %w", &host.Missing{What: "thing", Config: "CONFIG_THING", Err: unix.ENODEV})
	const lacks = "tried: this kernel has no thing (no such device); it needs CONFIG_THING"
	for _, c := range []struct {
		lab  string
		err  error
		lift Lift
		want string
	}{
		{"", nil, Lift{}, "runs"},
		{"6.1", nil, Lift{Since: "6.12"}, "runs"},
		{"", errors.New("boom"), Lift{}, "fail: boom"},
		{"", missing, Lift{}, "skip: " + lacks + "; lifted by every kernel of `make lab`"},
		{"", missing, Lift{Since: "6.12", Module: "thing"}, "skip: " + lacks + "; lifted by kernel 6.12 of `make lab` (module thing)"},
		{"6.1", missing, Lift{Since: "6.12"}, "skip: " + lacks + "; lifted by kernel 6.12 of `make lab`"},
		{"6.12", missing, Lift{Since: "6.1"}, "fail: " + lacks + ", though kernel 6.1 of `make lab` is said to have it"},
		{"6.1", missing, Lift{Module: "thing"}, "fail: " + lacks + ", though every kernel of `make lab` (module thing) is said to have it"},
	} {
		t.Setenv(labEnv, c.lab)
		got := &told{said: "runs"}
		done := make(chan struct{})
		go func() {
			defer close(done)
			Needs(got, c.err, c.lift)
		}()
		<-done
		if got.said != c.want {
			t.Errorf("%q, %v, %v:\ngot  %s\nwant %s", c.lab, c.err, c.lift, got.said, c.want)
		}
	}
}
