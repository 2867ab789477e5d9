package bench

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// onLoopback asks a server of the test's own.
func onLoopback(t *testing.T, answer func([]byte) []byte) *asker {
	t.Helper()
	r, err := respond(netip.MustParseAddrPort("127.0.0.1:0"), answer)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.close(); err != nil {
			t.Error(err)
		}
	})
	a, err := dialAsker(r.at())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.close() })
	return a
}

func TestAQuestionIsOneOfTheWire(t *testing.T) {
	t.Parallel()
	want := []byte{0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 2, 'a', 'b', 1, 'c', 0, 0, 1, 0, 1}
	if d := cmp.Diff(want, question4(nil, 0x1234, "ab.c")); d != "" {
		t.Errorf("question (-want +got):\n%s", d)
	}
	edns := append(bytes.Clone(want), 0, 0, 41, 4, 0xd0, 0, 0, 0, 0, 0, 0)
	edns[11] = 1
	answer := append(bytes.Clone(want), 0xc0, 12, 0, 1, 0, 1, 0, 0, 0x0e, 0x10, 0, 4, 192, 0, 2, 1)
	answer[2], answer[3], answer[7] = 0x81, 0x80, 1
	if d := cmp.Diff(answer, answer4(edns)); d != "" {
		t.Errorf("answer (-want +got):\n%s", d)
	}
	for n := range want {
		if got := answer4(bytes.Clone(want[:n])); got != nil {
			t.Errorf("%d bytes of a question are answered: % x", n, got)
		}
	}
}

func TestEveryQuestionIsAskedAndAnsweredOnce(t *testing.T) {
	t.Parallel()
	var names []string
	a := onLoopback(t, func(q []byte) []byte {
		names = append(names, string(q[dnsHeader+1:dnsHeader+1+int(q[dnsHeader])]))
		return answer4(q)
	})
	v, err := a.rate(100, a.names("forwarded", ""))
	if err != nil || v <= 0 {
		t.Fatalf("%v a second, %v", v, err)
	}
	asked := map[string]bool{}
	for _, n := range names {
		asked[n] = true
	}
	if len(names) != 100 || len(asked) != 100 {
		t.Errorf("%d questions for %d names, want 100 for as many", len(names), len(asked))
	}
	for kind, want := range map[string]string{"cached": cachedName, "local": localName + ".net.test"} {
		next := a.names(kind, "net.test")
		if first, second := next(), next(); first != want || second != want {
			t.Errorf("%s asks for %s and %s, want %s", kind, first, second, want)
		}
	}
}

func TestAnAnswerThatIsNoneFailsTheMeasurement(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func([]byte) []byte{
		"NXDOMAIN":   func(q []byte) []byte { a := answer4(q); a[3] |= 3; return a },
		"no record":  func(q []byte) []byte { a := answer4(q); a[7] = 0; return a },
		"a question": func(q []byte) []byte { return q },
		"a byte":     func([]byte) []byte { return []byte{1} },
	} {
		if _, err := onLoopback(t, answer).rate(1, func() string { return "a" }); err == nil || !strings.Contains(err.Error(), "the answer is none") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestANameIsAskedForUntilItIsKnown(t *testing.T) {
	t.Parallel()
	asked := 0
	a := onLoopback(t, func(q []byte) []byte {
		asked++
		out := answer4(q)
		switch {
		case asked < 3:
			return nil
		case asked < 6:
			out[3] |= 3
		}
		return out
	})
	if err := a.until(t.Context(), "late"); err != nil || asked < 6 {
		t.Errorf("asked %d times: %v", asked, err)
	}
}
