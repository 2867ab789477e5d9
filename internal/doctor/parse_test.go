package doctor

import "testing"

func FuzzWhatOthersSay(f *testing.F) {
	f.Add(busCall(2, "NameHasOwner", firewalldName))
	f.Fuzz(func(_ *testing.T, b []byte) {
		replySerial(b)
		if len(b) >= iptInfoSize {
			parseLegacy(b[:iptInfoSize], b[iptInfoSize:])
		}
	})
}
