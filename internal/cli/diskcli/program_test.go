package diskcli

import (
	"strings"
	"testing"
)

func TestALogDoesNotSteerATerminal(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	h := &harmless{w: &b}
	for _, piece := range []string{"é \x1b[2J\tok\r\n", "\xc2", "\x9b31m\x7f"} {
		if n, err := h.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	if want := "é ?[2J\tok?\n\xc2?31m?"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

func TestWhatACheckHasFoundIsToldAndAnError(t *testing.T) {
	t.Parallel()
	list := []checked{{Device: "sda1", Type: "ext4", Clean: true}, {Device: "sda2", Type: "xfs"}, {Device: "sda3", Type: "vfat", Clean: true, Repaired: true}}
	var b strings.Builder
	if err := writeCheckedText(&b, list); err != nil {
		t.Fatal(err)
	}
	const want = "DEVICE  TYPE  STATE\nsda1    ext4  clean\nsda2    xfs   damaged\nsda3    vfat  repaired\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	if err := unclean(list[:1], false); err != nil {
		t.Error(err)
	}
	for repair, want := range map[bool]string{false: "sda2: something is wrong with it; --repair", true: "sda2 could not be repaired wholly"} {
		if err := unclean(list, repair); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v: %v", repair, err)
		}
	}
}
