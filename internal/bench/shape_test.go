package bench

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"taproom/internal/network/load"
)

func TestALimitIsKeptWrongOrBeyondTheMachine(t *testing.T) {
	t.Parallel()
	row := func(kib int, transport string, mbits, want float64) ShapeRow {
		x := load.Transport{Streams: 1}
		if transport == "udp" {
			x = load.Transport{}
		}
		return ShapeRow{Through: "tap", Direction: "outbound", KiB: kib, Transport: transport, Mbits: mbits, Want: want, tolerance: x.Tolerance()}
	}
	s := &Shape{Rows: []ShapeRow{
		row(0, "tcp", 300, 0), row(0, "udp", 200, 0),
		row(1024, "tcp", 8.31, 8.39), row(1024, "udp", 8.39, 8.53), // 0.95 % and 1.6 % too little
		row(2048, "tcp", 16.9, 16.78), row(2048, "udp", 16.0, 17.06), // 0.7 % too much and 6 % too little
		row(65536, "tcp", 290, 537), row(65536, "udp", 560, 546), // the machine does not carry it; and too much for any
	}}
	r := &Report{}
	s.judge(r)
	want := []string{"", "", ShapeKept, ShapeKept, ShapeKept, ShapeWrong, ShapeBeyond, ShapeWrong}
	for i, row := range s.Rows {
		if row.Verdict != want[i] {
			t.Errorf("%+v: want %q", row, want[i])
		}
	}
	if !strings.HasPrefix(r.Notes[0], "2 limits were not kept") {
		t.Errorf("the notes are %q", r.Notes)
	}
}

func TestTheTableOfLimits(t *testing.T) {
	t.Parallel()
	s := &Shape{
		Rows: []ShapeRow{
			{Through: "tap", Direction: "outbound", Transport: "tcp", Mbits: 12345.6, CPU: 150},
			{Through: "tap", Direction: "outbound", KiB: 1024, Transport: "tcp", Mbits: 8.39, Want: 8.388608, CPU: 3, Verdict: ShapeKept},
			{Through: "tap", Direction: "outbound", KiB: 3000, Transport: "tcp", Mbits: 12, Want: 24, CPU: 3, Verdict: ShapeWrong},
		},
		Delays: []ShapeDelay{{Through: "tap", Direction: "outbound", KiB: 1024, P50: 17.28, P99: 36.4}},
	}
	var got bytes.Buffer
	s.writeText(&got)
	want := `
     tap, outbound                           
    limit in KiB/s  unbounded      1024          3000  
        tcp Mbit/s   12345.60      8.39         12.00  
      of the limit             100.02 %  50.00 % wrong  
               CPU      150 %       3 %           3 %  
     published tcp                 8.22                
  requests, p50 ms                 17.3                
            p99 ms                 36.4                
`
	squeeze := func(s string) string {
		var lines []string
		for l := range strings.Lines(s) {
			lines = append(lines, strings.Join(strings.Fields(l), " "))
		}
		return strings.TrimSpace(strings.Join(lines, "\n"))
	}
	if squeeze(got.String()) != squeeze(want) {
		t.Errorf("the table is\n%s\nwant\n%s", got.String(), want)
	}
}

func TestATapIsBoundedForTheBenchmark(t *testing.T) {
	t.Parallel()
	s, err := newShapeTap(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	const kib = 2048
	if err := s.bound(t.Context(), kib); err != nil {
		t.Fatal(err)
	}
	for _, out := range []bool{true, false} {
		began := time.Now()
		f, err := s.flow(t.Context(), load.Transport{Streams: 1}, out, kib<<10)
		if err != nil {
			t.Fatal(err)
		}
		flow := f.(*load.Flow)
		for late := began.Add(time.Minute); flow.Read().Bytes < 2<<20 && time.Now().Before(late); {
			<-time.After(10 * time.Millisecond)
		}
		last := flow.Read()
		f.Stop()
		// On any machine: never more than the limit and a bucket since it began.
		if most := 1.01*float64(kib<<10)*last.At.Sub(began).Seconds() + 160<<10; last.Bytes < 2<<20 || float64(last.Bytes) > most {
			t.Errorf("%s: %d bytes in %v, want 2 MiB and at most %.0f", direction(out), last.Bytes, last.At.Sub(began), most)
		}
	}
}
