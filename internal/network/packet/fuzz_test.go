package packet

import (
	"bytes"
	"errors"
	"testing"
)

// refused fails the test unless an error is one of the countable reasons.
func refused(t *testing.T, err error) {
	t.Helper()
	var why Refusal
	if !errors.As(err, &why) {
		t.Fatalf("%v is no Refusal", err)
	}
}

func FuzzUDP(f *testing.F) {
	f.Add(datagram4().Frame(), false)
	f.Add(datagram6().Frame(), true)
	f.Fuzz(func(t *testing.T, frame []byte, partial bool) {
		parse := ParseUDP4
		if Type(frame) == TypeIPv6 {
			parse = ParseUDP6
		}
		before := bytes.Clone(frame)
		d, err := parse(frame, partial)
		if !bytes.Equal(before, frame) {
			t.Fatal("the frame was changed")
		}
		if err != nil {
			refused(t, err)
			return
		}
		again, err := parse(d.Frame(), false)
		if err != nil || again.From != d.From || again.To != d.To || again.Src != d.Src || again.Dst != d.Dst || !bytes.Equal(again.Payload, d.Payload) {
			t.Errorf("%+v came back as %+v, %v", d, again, err)
		}
	})
}

func FuzzICMP6(f *testing.F) {
	f.Add(message6().Frame(), false)
	f.Add(message6().Frame(), true)
	f.Fuzz(func(t *testing.T, frame []byte, partial bool) {
		m, err := ParseICMP6(frame, partial)
		if err != nil {
			refused(t, err)
			return
		}
		again, err := ParseICMP6(m.Frame(), false)
		if err != nil || again.Src != m.Src || again.Dst != m.Dst || again.Type != m.Type || again.Code != m.Code || again.Hops != m.Hops || !bytes.Equal(again.Body, m.Body) {
			t.Errorf("%+v came back as %+v, %v", m, again, err)
		}
	})
}

func FuzzARP(f *testing.F) {
	f.Add(question().Frame())
	f.Fuzz(func(t *testing.T, frame []byte) {
		a, err := ParseARP(frame)
		if err != nil {
			refused(t, err)
			return
		}
		if again, err := ParseARP(a.Frame()); err != nil || *again != *a {
			t.Errorf("%+v came back as %+v, %v", a, again, err)
		}
	})
}
