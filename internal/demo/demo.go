package demo

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"taproom/internal/api/own"
	"taproom/internal/appliance"
	"taproom/internal/sandbox"
)

// Options are what a run takes.
type Options struct {
	Documents []own.Document // a network and a guest on it
	Programs  string         // folder of taproomd and its siblings
	Out       io.Writer      // progress
	Terminal  bool           // Out is one
}

// Result is what was seen.
type Result struct {
	Accelerator string        `json:"accelerator"`
	NoKVM       string        `json:"no_kvm,omitempty"` // why it is not KVM
	Guest       string        `json:"guest"`
	Network     string        `json:"network"`
	Address     string        `json:"address"`
	MAC         string        `json:"mac"`
	HostToGuest Traffic       `json:"host_to_guest"`
	GuestOut    Traffic       `json:"guest_to_outside"`
	SeenFrom    string        `json:"seen_outside_as"`
	Start       []own.Span    `json:"start"`
	Leftovers   []string      `json:"leftovers"`
	Took        time.Duration `json:"took_ns"`
}

// Traffic is what one exchange moved.
type Traffic struct {
	TCPBytes   int64   `json:"tcp_bytes"`
	TCPMbits   float64 `json:"tcp_mbits"`
	UDPSent    int     `json:"udp_sent"`
	UDPBack    int     `json:"udp_back"`
	RTTMedian  float64 `json:"rtt_median_s,omitempty"`
	Unverified int64   `json:"unverified_bytes"`
}

// bootWithin is how long the guest may take from its start to its lease: a minute in pure emulation is generous.
const bootWithin = 90 * time.Second

// Prepare makes what the guest boots, or finds it made. The first time it fetches a kernel, which no sandbox can.
func Prepare(ctx context.Context, o Options) error {
	p := NewProgress(o.Out, o.Terminal)
	p.Step("build the built-in guest")
	if _, err := appliance.Ensure(ctx, appliance.Options{
		AgentPath: filepath.Join(o.Programs, "taproom-agent"), Progress: p.Note,
	}); err != nil {
		p.Fail()
		return err
	}
	p.Done("")
	return nil
}

// Run does everything else inside a sandbox (see package sandbox), which the caller has entered and prepared.
func Run(ctx context.Context, o Options) (r *Result, err error) {
	began := time.Now()
	p := NewProgress(o.Out, o.Terminal)
	p.Step("join a namespace that plays the outside world")
	w, err := startWorld(ctx)
	if err != nil {
		p.Fail()
		return nil, err
	}
	defer w.stop()
	p.Step("start taproomd below a folder of its own")
	d, err := sandbox.Start(ctx, filepath.Join(o.Programs, "taproomd"))
	if err != nil {
		p.Fail()
		return nil, err
	}
	s := &session{Options: o, progress: p, daemon: d, world: w, result: &Result{}}
	if err = s.run(ctx); err != nil {
		p.Fail()
	}
	left, cerr := s.cleanUp(context.WithoutCancel(ctx))
	p.Done("")
	if err == nil {
		err = cerr
	}
	if err != nil {
		return nil, err
	}
	s.result.Leftovers, s.result.Took = left, time.Since(began)
	if len(left) > 0 {
		return s.result, fmt.Errorf("%d things were left behind: %v", len(left), left)
	}
	return s.result, nil
}

// Programs is the folder that the running program lies in.
func Programs() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	return filepath.Dir(self), nil
}
