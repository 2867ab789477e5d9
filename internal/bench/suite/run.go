package suite

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/bench"
	"taproom/internal/sandbox"
)

// Progress is how far a run is.
type Progress struct {
	Part        string // that runs now
	At, Of      int    // which it is, from 1, of how many
	Done, Total int    // rounds of what it measures now
	Left        time.Duration
	Result      *Result // the part has ended with this
	Kept        bool    // by an earlier run, which this one goes on with
}

// Run is one run of the suite.
type Run struct {
	Program string   // taproom, which measures a part when it is given bench MEMBER --json --progress
	Out     string   // the folder of the report; it is made
	Only    []string // names of parts; none: all
	Quick   bool
	Resume  bool // go on with what an earlier run has left in Out
	Peers   string
	Builds  *Builds // two that are measured by turns in every part that can; nil: the program's own
	Command string  // as it was typed
	Say     func(Progress)
	Machine Machine
	Version []Version
	// Grace is how long a part that is interrupted may take to remove what it made.
	Grace time.Duration
}

// partsFolder is where the parts of a run lie below its folder until the report is made, and after.
const partsFolder = "parts"

// Do runs the parts that are missing, each in a process of its own, and writes the report. A part that fails is in it with
// its reason. When ctx ends, the part that runs is told to clean up and waited for; what was measured until then stays, and
// a run with Resume goes on.
func (r *Run) Do(ctx context.Context) (*Report, error) {
	parts, err := r.parts()
	if err != nil {
		return nil, err
	}
	if err := r.begin(); err != nil {
		return nil, err
	}
	rep := &Report{
		Schema: Schema, Made: time.Now().UTC().Truncate(time.Second), Command: r.Command, Quick: r.Quick,
		Machine: r.Machine, Versions: r.Version, Method: method(), Parts: []Result{},
	}
	left := newEstimate(parts, r.Quick)
	for i, p := range parts {
		at := Progress{Part: p.Name, At: i + 1, Of: len(parts)}
		res, kept := r.kept(p)
		if !kept {
			res, err = r.part(ctx, p, func(done, total int) {
				at.Done, at.Total, at.Left = done, total, left.remaining()
				r.Say(at)
			})
			if err != nil {
				return nil, err
			}
		}
		left.ended(i, res.Took, kept)
		rep.Parts = append(rep.Parts, res)
		rep.Took += res.Took
		at.Result, at.Kept, at.Left = &rep.Parts[i], kept, left.remaining()
		r.Say(at)
	}
	return rep, rep.Write(r.Out)
}

// Builds are two folders with taproomd and its siblings.
type Builds struct {
	Old string `json:"old"`
	New string `json:"new"`
}

// parts are those of the run.
func (r *Run) parts() ([]Part, error) {
	all := Parts()
	if r.Builds != nil {
		all = TurnParts()
	}
	return choose(all, r.Only)
}

// settings are what the parts of one report have in common.
type settings struct {
	Schema  int       `json:"schema"`
	Quick   bool      `json:"quick"`
	Peers   string    `json:"peers"`
	Builds  *Builds   `json:"builds,omitempty"`
	Machine Machine   `json:"machine"`
	Version []Version `json:"versions"`
}

// begin makes the folder, or finds that what is in it can be gone on with.
func (r *Run) begin() error {
	machine := r.Machine
	machine.KVM = "" // how it was found out differs from time to time
	b, err := json.MarshalIndent(settings{Schema, r.Quick, r.Peers, r.Builds, machine, r.Version}, "", " ")
	if err != nil {
		return err
	}
	folder := filepath.Join(r.Out, partsFolder)
	file := filepath.Join(folder, "run.json")
	old, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return fmt.Errorf("make the report's folder: %w", err)
		}
		return replaceFile(file, b)
	case err != nil:
		return err
	case !r.Resume:
		return fmt.Errorf("%s holds a run of the benchmarks already; --resume goes on with it, --out names another folder", r.Out)
	case !bytes.Equal(old, b):
		return fmt.Errorf("%s was begun with other settings, on another machine or by another build, and one report cannot hold both; --out names another folder (its settings are in %s)", r.Out, file)
	}
	return nil
}

func (r *Run) file(p Part) string { return filepath.Join(r.Out, partsFolder, p.Name+".json") }

// kept is what an earlier run has measured. What it could not measure is tried again.
func (r *Run) kept(p Part) (Result, bool) {
	var res Result
	b, err := os.ReadFile(r.file(p))
	if err != nil || json.Unmarshal(b, &res) != nil || res.State != Measured {
		return Result{}, false
	}
	return res, res.Command == r.command(p)
}

// args measure a part.
func (r *Run) args(p Part) []string {
	args := append([]string{"bench", p.Member}, p.size(r.Quick).args...)
	if r.Peers != "" {
		args = append(args, "--peers", r.Peers)
	}
	if r.Builds != nil {
		args = append(args, "--programs", r.Builds.New, "--base", r.Builds.Old)
	}
	return args
}

// command is what a person types to measure the part again.
func (r *Run) command(p Part) string { return "taproom " + strings.Join(r.args(p), " ") }

// part measures one. What fails in it is its result; an error is one of the run itself, or its interruption.
func (r *Run) part(ctx context.Context, p Part, progress func(done, total int)) (Result, error) {
	res := Result{Name: p.Name, About: p.about(), Command: r.command(p), State: Missing, Began: time.Now().UTC().Truncate(time.Second)}
	progress(0, 0)
	out, err := runPart(ctx, r.Program, append(r.args(p), "--json", "--progress"), r.Grace, progress)
	res.Took, res.Left = time.Since(res.Began).Seconds(), out.left
	if ctx.Err() != nil {
		return res, errors.Join(ctx.Err(), out.cleaning)
	}
	var report bench.Report
	switch {
	case err != nil:
		res.Why = err.Error()
	case json.Unmarshal(out.stdout, &report) != nil || len(report.Figures) == 0:
		res.Why = "it measured nothing"
		for _, s := range report.Skipped {
			res.Why += "; " + s.Name + ": " + s.Why
		}
	default:
		res.State, res.Report, res.Ratios = Measured, &report, ratios(&report)
	}
	b, err := json.MarshalIndent(res, "", " ")
	if err != nil {
		return res, err
	}
	return res, replaceFile(r.file(p), b)
}

// output is what a part's process left.
type output struct {
	stdout   []byte
	left     []string // in its folder for temporary files, which is gone now
	cleaning error    // it did not clean up in time
}

// runPart runs a program in a folder for temporary files of its own, and removes that. The program is asked to end when ctx
// does. Its error says why it failed in its own words.
func runPart(ctx context.Context, program string, args []string, grace time.Duration, progress func(done, total int)) (output, error) {
	var out output
	temp, err := os.MkdirTemp("", "tb") // short: sockets lie below it
	if err != nil {
		return out, err
	}
	if err := os.Chmod(temp, 0o755); err != nil { // guests' users walk through it
		return out, errors.Join(err, os.RemoveAll(temp))
	}
	var stdout bytes.Buffer
	said := &listener{progress: progress}
	c := exec.CommandContext(ctx, program, args...)
	c.Env = append(os.Environ(), "TMPDIR="+temp)
	c.Stdout, c.Stderr = &stdout, said
	// A group of its own: ^C reaches this process alone, which passes it on once.
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return c.Process.Signal(unix.SIGTERM) }
	c.WaitDelay = grace
	if err = sandbox.StartTied(c, unix.SIGTERM); err == nil { // it ends with us, even when we are killed
		err = c.Wait()
	}
	out.stdout = stdout.Bytes()
	if errors.Is(err, exec.ErrWaitDelay) {
		out.cleaning = fmt.Errorf("%s did not clean up within %v", strings.Join(args, " "), grace)
	}
	if entries, readErr := os.ReadDir(temp); readErr == nil {
		for _, e := range entries {
			out.left = append(out.left, e.Name())
		}
	}
	said.end()
	if err != nil && said.reason != "" {
		err = errors.New(said.reason)
	} else if err != nil && said.last != "" {
		err = fmt.Errorf("%w: %s", err, said.last)
	}
	return out, errors.Join(err, os.RemoveAll(temp))
}

// listener reads what a part says on standard error: a JSON object a line of its progress or of its error, and anything.
type listener struct {
	progress     func(done, total int)
	rest         bytes.Buffer
	reason, last string
}

var _ io.Writer = (*listener)(nil)

// mostLine is how much of a line without an end is kept.
const mostLine = 64 << 10

// Write implements io.Writer.
func (l *listener) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		if l.rest.Len() < mostLine {
			l.rest.Write(line)
		}
		if bytes.HasSuffix(line, []byte("\n")) {
			l.line(l.rest.String())
			l.rest.Reset()
		}
	}
	return len(p), nil
}

func (l *listener) line(s string) {
	var said struct {
		Error       string
		Done, Total *int
	}
	s = strings.TrimSpace(s)
	if json.Unmarshal([]byte(s), &said) != nil {
		if s != "" {
			l.last = s
		}
		return
	}
	if said.Error != "" {
		l.reason = said.Error
	}
	if said.Done != nil && said.Total != nil {
		l.progress(*said.Done, *said.Total)
	}
}

// end reads what came last and had no end.
func (l *listener) end() {
	s := bufio.NewScanner(&l.rest)
	for s.Scan() {
		l.line(s.Text())
	}
}
