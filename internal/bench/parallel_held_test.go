package bench

import (
	"context"
	"errors"
	"testing"
	"testing/fstest"
)

func TestAMachineThatGivesMemoryBackIsKnownByItsBalloon(t *testing.T) {
	t.Parallel()
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s + "\n")} }
	for name, c := range map[string]struct {
		fs   fstest.MapFS
		want bool
	}{
		"no virtio":  {nil, false},
		"reports":    {fstest.MapFS{"virtio0/device": file("0x0002"), "virtio0/features": file("11111111"), "virtio1/device": file("0x0005"), "virtio1/features": file("01100101")}, true},
		"does not":   {fstest.MapFS{"virtio0/device": file("0x0005"), "virtio0/features": file("01100001")}, false},
		"a disk":     {fstest.MapFS{"virtio0/device": file("0x0002"), "virtio0/features": file("11111111")}, false},
		"cut short":  {fstest.MapFS{"virtio0/device": file("0x0005"), "virtio0/features": file("011")}, false},
		"no feature": {fstest.MapFS{"virtio0/device": file("0x0005")}, false},
	} {
		if got := givesMemoryBack(c.fs); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestMemoryIsHeldAndGivenBackPieceByPiece(t *testing.T) {
	t.Parallel()
	h, err := holdMemory(t.Context(), 3, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	piece := h.left() / 3
	if piece < 10_000 {
		t.Errorf("pieces of %d bytes, want 10000 at least", piece)
	}
	for n := uint64(2); ; n-- {
		if err := h.giveBack(); err != nil || h.left() != n*piece {
			t.Errorf("%d bytes are left (%v), want %d", h.left(), err, n*piece)
		}
		if n == 0 {
			break
		}
	}
	if err := errors.Join(h.giveBack(), h.close(), (*heldMemory)(nil).giveBack()); err != nil {
		t.Error(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := holdMemory(over, 3, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
}
