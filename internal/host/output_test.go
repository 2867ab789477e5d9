package host_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"taproom/internal/host"
)

func TestAProgramsOutputIsReadToItsEndOrRefused(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	k := host.New(host.Options{})
	defer k.Close()
	out, err := k.Output(ctx, "sh", "-c", "head -c 16777216 /dev/zero && head -c 40000000 /dev/zero >&2")
	if err != nil || len(out) != 16<<20 {
		t.Errorf("what prints all that is read, and complains at length, gives %d bytes and %v", len(out), err)
	}
	if _, err := k.Output(ctx, "sh", "-c", "head -c 16777217 /dev/zero"); !errors.Is(err, host.ErrTooLarge) {
		t.Errorf("what prints one byte more gives %v", err)
	}
	if _, err := k.Output(ctx, "sh", "-c", "echo no >&2; exit 3"); err == nil || !strings.Contains(err.Error(), "no") {
		t.Errorf("what fails gives %v", err)
	}
	soon, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := k.Output(soon, "sleep", "1000"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("what takes too long gives %v", err)
	}
}
