package suite

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"taproom/internal/bench"
)

// sample is a report with every kind of plot, long names, awkward values, and parts that could not run.
func sample() *Report {
	start := part("floor", "total", "own", "stage.parse", "stage.plan", "stage.links", "stage.exec", "stage.settle", "peer.libvirt")
	start.Name, start.Report.Bench = "start", "start"
	start.Report.Skipped = []bench.Skip{{Name: "peer.dnsmasq.a-very-long-name-of-a-figure", Why: "it is not installed: apt-get install dnsmasq-base, or tools/peers.sh " + strings.Repeat("unbroken", 20)}}
	var names []string
	for _, who := range []string{"", "floor.", "probe.", "counter."} {
		for _, kind := range []string{"tap", "macvtap"} {
			for _, n := range []string{"1", "8", "82", "1000", "4000"} {
				names = append(names, who+kind+"."+n+".made", who+kind+"."+n+".delete")
			}
		}
	}
	links := part(names...)
	links.Name = "names"
	for i := range links.Report.Figures { // what 4,000 take is far from what one takes
		f := &links.Report.Figures[i]
		_, n, _ := counted(f.Name)
		f.Median, f.Min, f.Max = n*0.19, n*0.15, n*0.31
	}
	boot := part("floor.qemu", "cold.ready", "template.ready")
	boot.Name = "boot"
	boot.Report.Boot = &bench.Boot{Passes: 10}
	for _, way := range []string{"cold", "template"} {
		at := 0.0
		for i, stage := range []string{"created", "kernel", "init", "an uncommonly long name of a stage of an appliance", "ready"} {
			to := at + math.Pow(3, float64(i))
			boot.Report.Boot.Stages = append(boot.Report.Boot.Stages, bench.Bar{Way: way, Stage: stage, From: at, To: to})
			at = to
		}
	}
	limits := part("tap.out.1024.delay.p50", "tap.out.1024.delay.p99")
	limits.Name = "shape"
	limits.Report.Shape = &bench.Shape{}
	for _, direction := range []string{"out", "in"} {
		for _, transport := range []string{"tcp1", "tcp4", "udp", "tcp6"} {
			for kib := 1024; kib <= 65536; kib *= 2 {
				limits.Report.Shape.Rows = append(limits.Report.Shape.Rows, bench.ShapeRow{Through: "guest", Direction: direction, Transport: transport, KiB: kib, Mbits: float64(kib) / 122 * (1 + float64(len(transport))/40)})
			}
		}
	}
	odd := part("negative", "tiny", "huge", "zero", "a.figure.whose.name.is.much.longer.than.what.a.phone.can.show.on.one.line")
	odd.Name = "odd"
	for i, v := range []float64{-4.5, 0.000123, 12345678, 0, 3} {
		f := &odd.Report.Figures[i]
		f.Median, f.Min, f.Max = v, v-math.Abs(v)/3, v+math.Abs(v)/2
		f.Unit = []string{"ms", "ms", "1/s", "ms", "1/s"}[i]
	}
	r := &Report{
		Schema: Schema, Made: time.Date(2026, 11, 24, 1, 2, 3, 0, time.UTC), Took: 1234, Command: "taproom bench all --quick", Quick: true,
		Machine:  Machine{Kernel: "6.18.0", CPU: "AMD EPYC", CPUs: 2, Memory: 24000, KVM: "this processor does not virtualise; guests run in TCG"},
		Versions: []Version{{"taproom", "v1"}, {"QEMU", "QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)"}}, Method: method(),
	}
	for _, p := range []*Result{start, links, boot, limits, odd} {
		p.About, p.Command, p.Took, p.Ratios = "what it measures", "taproom bench "+p.Name, 12.3, ratios(p.Report)
		r.Parts = append(r.Parts, *p)
	}
	r.Parts = append(r.Parts, Result{Name: "uml", About: "User-Mode Linux", Command: "taproom bench uml", State: Missing, Why: "no kernel for it was built; make appliance builds it"})
	return r
}

// browser is a Chromium that is spoken to over a pipe, in the DevTools protocol, one JSON object after another with NUL between.
type browser struct {
	t       *testing.T
	in      *os.File
	mu      sync.Mutex
	id      int
	session string
	answers chan message
	heard   []message // events since they were looked at last
}

type message struct {
	ID     int             `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
}

func newBrowser(t *testing.T, program string) *browser {
	t.Helper()
	toThem, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, fromThem, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe",
		"--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--user-data-dir="+t.TempDir(), "about:blank")
	c.ExtraFiles = []*os.File{toThem, fromThem} // 3 and 4, as the protocol has it
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	toThem.Close()
	fromThem.Close()
	b := &browser{t: t, in: in, answers: make(chan message, 1)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.listen(out)
	}()
	t.Cleanup(func() {
		in.Close() // it ends
		_ = c.Wait()
		out.Close()
		<-done
	})
	return b
}

func (b *browser) listen(out *os.File) {
	defer close(b.answers)
	s := bufio.NewScanner(out)
	s.Buffer(nil, 64<<20)
	s.Split(func(data []byte, _ bool) (int, []byte, error) {
		if i := bytes.IndexByte(data, 0); i >= 0 {
			return i + 1, data[:i], nil
		}
		return 0, nil, nil
	})
	for s.Scan() {
		var m message
		if json.Unmarshal(s.Bytes(), &m) != nil {
			continue
		}
		if m.ID != 0 {
			b.answers <- m
			continue
		}
		b.mu.Lock()
		b.heard = append(b.heard, m)
		b.mu.Unlock()
	}
}

// call asks and returns the answer, into result where that is not nil.
func (b *browser) call(method string, params, result any) {
	b.t.Helper()
	b.id++
	ask := map[string]any{"id": b.id, "method": method, "params": params}
	if b.session != "" {
		ask["sessionId"] = b.session
	}
	text, err := json.Marshal(ask)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.in.Write(append(text, 0)); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	for m := range b.answers {
		if m.ID != b.id {
			continue
		}
		if m.Error != nil {
			b.t.Fatalf("%s: %s", method, m.Error)
		}
		if result != nil {
			if err := json.Unmarshal(m.Result, result); err != nil {
				b.t.Fatalf("%s: %v", method, err)
			}
		}
		return
	}
	b.t.Fatalf("%s: the browser has ended", method)
}

// page opens a tab.
func (b *browser) page() {
	b.t.Helper()
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.call(domain+".enable", map[string]any{}, nil)
	}
}

// evaluate runs an expression, waits for its promise and returns what it is.
func (b *browser) evaluate(expression string, result any) {
	b.t.Helper()
	var got struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &got)
	if got.ExceptionDetails != nil {
		b.t.Fatalf("%s", got.ExceptionDetails)
	}
	if err := json.Unmarshal(got.Result.Value, result); err != nil {
		b.t.Fatal(err)
	}
}

// complaints are requests to the outside and what the console was told, since this was asked last.
func (b *browser) complaints(file string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []string
	for _, m := range b.heard {
		switch m.Method {
		case "Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled":
			out = append(out, m.Method+" "+string(m.Params))
		case "Network.requestWillBeSent":
			var p struct{ Request struct{ URL string } }
			_ = json.Unmarshal(m.Params, &p) // no URL is a complaint
			if p.Request.URL != file && !strings.HasPrefix(p.Request.URL, "data:") && p.Request.URL != "about:blank" {
				out = append(out, "it asked for "+p.Request.URL)
			}
		}
	}
	b.heard = nil
	return out
}

func TestTheReportIsReadableInABrowserInEverySizeAndScheme(t *testing.T) {
	program := os.Getenv("TAPROOM_CHROMIUM")
	if program == "" {
		t.Skip("make report-check sets TAPROOM_CHROMIUM and opens the report in Debian's Chromium")
	}
	script, err := os.ReadFile("testdata/check.js")
	if err != nil {
		t.Fatal(err)
	}
	b := newBrowser(t, program)
	b.page()
	reports := map[string]*Report{"sample": sample()}
	if file := os.Getenv("TAPROOM_REPORT"); file != "" { // a real one
		if reports["real"], err = ReadReport(file); err != nil {
			t.Fatal(err)
		}
	}
	for name, r := range reports {
		page, err := r.Page()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), PageFile)
		if err := os.WriteFile(path, page, 0o600); err != nil {
			t.Fatal(err)
		}
		file := (&url.URL{Scheme: "file", Path: path}).String()
		for _, size := range []struct {
			name          string
			width, height int
			media         string
		}{{"phone", 390, 844, ""}, {"small phone", 320, 640, ""}, {"desktop", 1440, 900, ""}, {"print", 718, 1000, "print"}} {
			for _, scheme := range []string{"light", "dark"} {
				look := fmt.Sprintf("%s, %s, %s", name, size.name, scheme)
				b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": size.width, "height": size.height, "deviceScaleFactor": 1, "mobile": strings.Contains(size.name, "phone")}, nil)
				b.call("Emulation.setEmulatedMedia", map[string]any{"media": size.media, "features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
				b.call("Page.navigate", map[string]any{"url": file}, nil)
				var wrong []string
				b.evaluate(string(script), &wrong)
				for _, w := range append(wrong, b.complaints(file)...) {
					t.Errorf("%s: %s", look, w)
				}
				b.picture(strings.ReplaceAll(look, ", ", "-"))
			}
		}
	}
}

// picture keeps what the page looks like in the folder TAPROOM_PICTURES, where that is set.
func (b *browser) picture(name string) {
	dir := os.Getenv("TAPROOM_PICTURES")
	if dir == "" {
		return
	}
	var shot struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true}, &shot)
	png, err := base64.StdEncoding.DecodeString(shot.Data)
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".png"), png, 0o600)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}
