package hosttest

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"taproom/internal/host"
)

// Lift is where a test runs that a kernel cannot run: on the kernels of `make lab` from a version on, which have what it
// needs in a module, or built in.
type Lift struct {
	Since  string // the first of the lab's kernels that has it: "6.12"; "" for all of them
	Module string // the module there; "" where it is built in
}

// String says it for people.
func (l Lift) String() string {
	s := "every kernel of `make lab`"
	if l.Since != "" {
		s = "kernel " + l.Since + " of `make lab`"
	}
	if l.Module != "" {
		s += " (module " + l.Module + ")"
	}
	return s
}

// labEnv holds the version of the lab's kernel that the tests run on.
const labEnv = "TAPROOM_LAB"

// Needs goes on when err is nil, and skips the test when err says that this kernel lacks what it needs (*host.Missing); any
// other error fails it. On a kernel of the lab that is to lift the skip, lacking it is a failure too: so no skip is for ever.
func Needs(t testing.TB, err error, l Lift) {
	t.Helper()
	switch missing := new(host.Missing); {
	case err == nil:
	case !errors.As(err, &missing):
		t.Fatal(err)
	case l.holds(os.Getenv(labEnv)):
		t.Fatalf("%v, though %s is said to have it", err, l)
	default:
		t.Skipf("%v; lifted by %s", err, l)
	}
}

// holds reports whether a kernel of the lab has what is needed; "" is none of them.
func (l Lift) holds(kernel string) bool {
	return kernel != "" && (l.Since == "" || !before(kernel, l.Since))
}

// before compares versions such as 6.1 and 6.12.
func before(a, b string) bool { return version(a) < version(b) }

func version(s string) int {
	major, minor, _ := strings.Cut(s, ".")
	a, err := strconv.Atoi(major)
	b, err2 := strconv.Atoi(minor)
	if err != nil || err2 != nil {
		panic(fmt.Sprintf("%q is no kernel's version such as 6.12", s))
	}
	return a<<16 | b
}
