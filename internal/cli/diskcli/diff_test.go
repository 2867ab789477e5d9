package diskcli

import (
	"context"
	"errors"
	"testing"

	"taproom/disk"
)

func TestSided_NamesTheImageThatFailed(t *testing.T) {
	t.Parallel()
	images := []string{"one.img", "two.img"}
	failed := errors.New("failed")
	for _, c := range []struct {
		err  error
		want string
	}{
		{&disk.SideError{Side: 0, Err: failed}, "image one.img: failed"},
		{errors.Join(&disk.SideError{Side: 1, Err: failed}, &disk.SideError{Side: 0, Err: failed}), "image two.img: failed\nimage one.img: failed"},
		{failed, "image one.img or two.img: failed"},
	} {
		err := named(t.Context(), images[1], sided(t.Context(), images, c.err))
		if err.Error() != c.want || !errors.Is(err, failed) {
			t.Errorf("%q, want %q", err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := named(ctx, images[1], sided(ctx, images, failed)); !errors.Is(err, errInterrupted) {
		t.Errorf("after an interrupt: %v", err)
	}
}
