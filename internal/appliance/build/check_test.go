package build

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestKernelThatDoesNotBootIsRefusedWithWhatQEMUSays(t *testing.T) {
	t.Parallel()
	image := filepath.Join(t.TempDir(), "vmlinux")
	if err := os.WriteFile(image, bytes.Repeat([]byte("no kernel\n"), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	err := checkBoot(t.Context(), []byte("agent"), image)
	if err == nil || !strings.Contains(err.Error(), "does not answer") || !strings.Contains(err.Error(), "too old") {
		t.Errorf("got %v, want what QEMU says", err)
	}
}
