package bench

import (
	"context"
	"fmt"
	"io"
	"math"
	"os/exec"
	"slices"
	"strings"
)

// Boot is what a report says of appliances beside the figures: what libguestfs's own benchmark of its boot says, and more.
type Boot struct {
	Passes      int      `json:"passes"`
	Backend     string   `json:"backend"`
	Accelerator string   `json:"accelerator"`
	QEMU        string   `json:"qemu"`
	Version     string   `json:"qemu_version"`
	Machine     string   `json:"machine"`
	Kernel      string   `json:"kernel"` // "own", or "distribution"
	SMP         int      `json:"smp"`
	Memsize     uint64   `json:"memsize"` // MiB
	Append      string   `json:"append"`
	Results     []Result `json:"results"`
	Stages      []Bar    `json:"waterfall"`
}

// Result is one way to an appliance, in milliseconds.
type Result struct {
	Way    string  `json:"way"`
	Mean   float64 `json:"mean"`
	SD     float64 `json:"sd"`
	Median float64 `json:"median"`
	P99    float64 `json:"p99"`
	Floor  float64 `json:"floor_ratio"`          // its median to that of floor.qemu
	Peer   float64 `json:"peer_ratio,omitempty"` // libguestfs's median to its own, where that was measured
}

// Bar is a stage of a way: from and to, in milliseconds since the launch was asked for, by medians.
type Bar struct {
	Way   string  `json:"way"`
	Stage string  `json:"stage"`
	From  float64 `json:"from"`
	To    float64 `json:"to"`
}

// describe makes the report's part of what was measured.
func (b *bootBench) describe(ctx context.Context, passes int, all []Series) (*Boot, error) {
	qemu, err := b.k.LookPath("qemu-system-x86_64")
	if err != nil {
		return nil, err
	}
	version, err := qemuVersion(ctx)
	if err != nil {
		return nil, err
	}
	kernel := "distribution"
	if b.files.Own {
		kernel = "own"
	}
	return &Boot{
		Passes: passes, Backend: "direct (QEMU, confined by taproom-launch)", Accelerator: b.cold.Accelerator(), QEMU: qemu, Version: version,
		Machine: b.cold.Machine(), Kernel: kernel, SMP: 1, Memsize: b.spec.Memory, Append: strings.Join(b.files.Cmdline, " "),
		Results: results(all), Stages: waterfall(all),
	}, nil
}

// qemuVersion is what the emulator says of itself.
func qemuVersion(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "qemu-system-x86_64", "--version").Output()
	if err != nil {
		return "", fmt.Errorf("qemu-system-x86_64 --version: %w", err)
	}
	version, _, _ := strings.Cut(strings.TrimPrefix(string(out), "QEMU emulator version "), "\n")
	return version, nil
}

// results are the figures named WAY.ready and the peer's, with their ratios.
func results(all []Series) []Result {
	median := func(name string) float64 {
		for _, s := range all {
			if s.Name == name {
				return s.Figure().Median
			}
		}
		return 0
	}
	floor := median("floor.qemu")
	var out []Result
	for _, s := range all {
		way, ready := strings.CutSuffix(s.Name, ".ready")
		peer := median("peer.libguestfs")
		if strings.Contains(way, "mounted") {
			peer = median("peer.libguestfs.mounted")
		}
		if strings.HasPrefix(s.Name, "peer.") {
			ready, peer = true, 0
		}
		if !ready {
			continue
		}
		f := s.Figure()
		mean, sd := meanSD(s.Samples)
		r := Result{Way: way, Mean: mean, SD: sd, Median: f.Median, P99: quantile(s.Samples, 0.99), Peer: peer / f.Median}
		if floor > 0 {
			r.Floor = f.Median / floor
		}
		out = append(out, r)
	}
	return out
}

// meanSD returns the mean, and the standard deviation of a sample, which of one value is 0.
func meanSD(v []float64) (mean, sd float64) {
	for _, x := range v {
		mean += x / float64(len(v))
	}
	if len(v) < 2 {
		return mean, 0
	}
	for _, x := range v {
		sd += (x - mean) * (x - mean) / float64(len(v)-1)
	}
	return mean, math.Sqrt(sd)
}

// quantile is the least value that is not below a share q of all of them.
func quantile(v []float64, q float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return s[min(len(s)-1, max(0, int(math.Ceil(q*float64(len(s))))-1))]
}

// waterfall lines up the stages of each way: each ends where its figure says, and begins where the one before ended.
func waterfall(all []Series) []Bar {
	var out []Bar
	at := map[string]float64{}
	for _, s := range all {
		way, stage, ok := strings.Cut(s.Name, ".stage.")
		if !ok {
			continue
		}
		b := Bar{Way: way, Stage: stage, From: at[way], To: s.Figure().Median}
		if stage == "shutdown" {
			b.To += b.From
		}
		at[way] = b.To
		out = append(out, b)
	}
	return out
}

// writeText prints it in the form of libguestfs's report, with what that does not have below.
func (b *Boot) writeText(w io.Writer, h Host) {
	for _, line := range [][2]string{
		{"test version", "taproom " + h.Version},
		{"test passes", fmt.Sprint(b.Passes)},
		{"host version", "Linux " + h.Kernel},
		{"host CPU", fmt.Sprintf("%d × %s, load %.1f", h.CPUs, h.CPU, h.Load)},
		{"backend", b.Backend},
		{"accelerator", b.Accelerator},
		{"qemu", b.QEMU},
		{"qemu version", b.Version},
		{"machine", b.Machine},
		{"kernel", b.Kernel},
		{"smp", fmt.Sprint(b.SMP)},
		{"memsize", fmt.Sprint(b.Memsize)},
		{"append", b.Append},
	} {
		fmt.Fprintf(w, "%14s: %s\n", line[0], line[1])
	}
	fmt.Fprintln(w)
	for _, r := range b.Results {
		fmt.Fprintf(w, "%24s: %sms ±%sms  median %s  p99 %s", r.Way, fixed(r.Mean), fixed(r.SD), fixed(r.Median), fixed(r.P99))
		if r.Floor > 0 {
			fmt.Fprintf(w, "  %.2f × the floor", r.Floor)
		}
		if r.Peer > 0 {
			fmt.Fprintf(w, "  1/%.0f of libguestfs", r.Peer)
		}
		fmt.Fprintln(w)
	}
	b.writeWaterfall(w)
}

func fixed(v float64) string { return fmt.Sprintf("%.1f", v) }

// writeWaterfall draws the stages of each way on a scale of its own.
func (b *Boot) writeWaterfall(w io.Writer) {
	const width = 50
	last := map[string]float64{}
	for _, s := range b.Stages {
		last[s.Way] = max(last[s.Way], s.To)
	}
	way := ""
	for _, s := range b.Stages {
		if s.Way != way {
			way = s.Way
			fmt.Fprintf(w, "\n%s, ms since it was asked for\n", way)
		}
		from := int(s.From / last[way] * width)
		length := max(1, int(math.Round((s.To-s.From)/last[way]*width)))
		fmt.Fprintf(w, "%10s %s%s %.1f\n", s.Stage, strings.Repeat(" ", from), strings.Repeat("█", length), s.To)
	}
	fmt.Fprintln(w)
}
