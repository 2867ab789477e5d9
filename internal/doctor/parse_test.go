package doctor

import "testing"

func FuzzWhatOthersSay(f *testing.F) {
	f.Add(make([]byte, iptInfoSize))
	f.Fuzz(func(_ *testing.T, b []byte) {
		if len(b) >= iptInfoSize {
			parseLegacy(b[:iptInfoSize], b[iptInfoSize:])
		}
	})
}
