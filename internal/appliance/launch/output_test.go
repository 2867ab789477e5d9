package launch

import (
	"os"
	"strings"
	"testing"
	"time"
)

func TestOutputKeepsTheEndInWordsThatAreFitForAMessage(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	o := readOutput(r)
	if first, _ := o.spokeAt(); !first.IsZero() {
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
	first, init := o.spokeAt()
	if len(o.last) > keptOutput || first.IsZero() || !init.IsZero() {
		t.Errorf("%d bytes are kept, spoke at %v, began its first process at %v", len(o.last), first, init)
	}
	o.close()
}

func TestTheConsoleTellsWhenTheFirstProcessBegins(t *testing.T) {
	t.Parallel()
	o := &output{}
	o.add([]byte("[    0.5] Run /init as in"))
	if _, init := o.spokeAt(); !init.IsZero() {
		t.Errorf("half a line told of it: %v", init)
	}
	o.add([]byte("it process\r\n"))
	if first, init := o.spokeAt(); init.Before(first) || init.IsZero() {
		t.Errorf("spoke at %v, its first process at %v", first, init)
	}
}

func TestStagesAreToldInTheirOrder(t *testing.T) {
	t.Parallel()
	var at []time.Time
	l := &Launcher{spec: Spec{Trace: func(_ Stage, when time.Time) { at = append(at, when) }}}
	o := &output{}
	o.add([]byte(initMarker))
	late := time.Now().Add(time.Hour) // who saw QEMU executed had to wait for a processor
	l.traceOutput(o, late)
	l.traceOutput(o, o.first.Add(-time.Hour))
	if len(at) != 4 || at[0] != late || at[1] != late || at[2] != o.first || at[3] != o.init {
		t.Errorf("told %v of %v and %v, executed at %v", at, o.first, o.init, late)
	}
}
