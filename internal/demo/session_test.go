package demo

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"testing"
	"time"
)

func TestAnExchangeEndsThoughNothingComesBack(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // it never accepts: the kernel takes the connection and what fits into its buffers
	c, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if back, err := exchange(ctx, c.(halfCloser), make([]byte, 64<<20)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%d bytes, %v; want that the time was over", len(back), err)
	}
}
