package build

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestWhatWasBuiltIsBootedWithTheAgent(t *testing.T) {
	t.Parallel()
	image, broken := filepath.Join(t.TempDir(), "vmlinux"), errors.New("it does not boot")
	o := Options{Network: true, Check: func(_ context.Context, f Files) error {
		if f.Kernel != image || !f.Own || !f.Network || f.Memory == 0 || len(f.Cmdline) == 0 {
			t.Errorf("it is to boot %+v", f)
		}
		if b, err := os.ReadFile(f.Initrd); err != nil || !bytes.Contains(b, []byte("\x7fELFagent")) {
			t.Errorf("its initramfs has no agent, %v", err)
		}
		return broken
	}}
	err := o.checked(t.Context(), []byte("\x7fELFagent"), image)
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

func TestNoKernelIsBuiltThatNobodyChecks(t *testing.T) {
	t.Parallel()
	if _, err := Ensure(t.Context(), Options{CacheDir: t.TempDir(), AgentPath: fakeAgent(t, "1"), Which: Own}); !errors.Is(err, ErrNoCheck) {
		t.Errorf("got %v, want %v", err, ErrNoCheck)
	}
}
