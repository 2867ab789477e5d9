package helper_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"taproom/internal/host/hosttest"
)

// On a machine with 15 processes for each processor a helper needed more than five seconds to say hello, and its start failed.
func TestOpenHelper_WaitsForASlowStart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "vnet")
	if err := hosttest.WriteProgram(path, fmt.Appendf(nil, "#!/bin/sh\nsleep 6\nexec '%s' \"$@\"\n", built.use(t))); err != nil {
		t.Fatal(err)
	}
	s := newSiteOf(t, path)
	if s.h.Adopted() {
		t.Error("the helper was found running")
	}
}
