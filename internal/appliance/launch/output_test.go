package launch

import (
	"os"
	"strings"
	"testing"
)

func TestOutputKeepsTheEndInWordsThatAreFitForAMessage(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	o := readOutput(r)
	if !o.spokeAt().IsZero() {
		t.Error("it has said something before it did")
	}
	for range 1000 {
		if _, err := w.WriteString(strings.Repeat("flood ", 100)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.WriteString("\x1b[31mred\xff\r\npanic\n"); err != nil {
		t.Fatal(err)
	}
	w.Close()
	<-o.done
	got := o.tail()
	if len(got) > shown+8 || !strings.HasPrefix(got, "flood") && !strings.Contains(got, "flood flood") || !strings.HasSuffix(got, " [31mred?;panic") {
		t.Errorf("%d bytes, ending in %q", len(got), got[max(0, len(got)-40):])
	}
	if len(o.last) > keptOutput || o.spokeAt().IsZero() {
		t.Errorf("%d bytes are kept, spoke at %v", len(o.last), o.spokeAt())
	}
	o.close()
}
