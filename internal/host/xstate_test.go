package host

import (
	"runtime"
	"testing"
)

func TestTheProcessorSaysHowLargeItsRegistersAre(t *testing.T) {
	t.Parallel()
	const legacy, most = 512 + 64, 1 << 16 // what every XSAVE area has, and more than any processor's
	n := ExtendedState()
	if runtime.GOARCH != "amd64" && n != 0 || n != 0 && (n < legacy || n > most) {
		t.Errorf("%d bytes", n)
	}
}
