// Package suite runs the benchmarks one after another, each in a process of its own, and makes one report of them: a stable
// JSON document, a text, and a page that is a single file. It compares reports, and two builds by turns.
package suite

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"taproom/internal/bench"
)

// Schema is the version of the report's JSON form. Names are added without a new one, never changed.
const Schema = 1

// The files of a report's folder.
const (
	JSONFile = "report.json"
	TextFile = "report.txt"
	PageFile = "report.html"
)

// Report is what one run of the suite found.
type Report struct {
	Schema   int       `json:"schema"`
	Made     time.Time `json:"made"`
	Took     float64   `json:"took_s"` // of all parts together, in seconds
	Command  string    `json:"command"`
	Quick    bool      `json:"quick"` // smaller sizes and fewer repetitions
	Machine  Machine   `json:"machine"`
	Versions []Version `json:"versions"`
	Method   []string  `json:"method"`
	Parts    []Result  `json:"parts"`
}

// Machine is where it ran.
type Machine struct {
	Kernel string `json:"kernel"`
	CPU    string `json:"cpu"`
	CPUs   int    `json:"cpus"`
	Memory int    `json:"memory_mib"`
	KVM    string `json:"kvm"` // "usable", or why it is not
}

// Version is that of a program which was measured or took part.
type Version struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// State is what became of a part.
type State string

// The states.
const (
	Measured State = "measured"
	Missing  State = "not measured" // it could not run, or failed; Why has the reason
)

// Result is what one part found.
type Result struct {
	Name    string        `json:"name"`
	About   string        `json:"about"`
	Command string        `json:"command"` // that measures it again
	State   State         `json:"state"`
	Why     string        `json:"why,omitempty"`
	Began   time.Time     `json:"began"`
	Took    float64       `json:"took_s"`
	Left    []string      `json:"left,omitempty"` // files that it should have removed; they were removed for it
	Report  *bench.Report `json:"report,omitempty"`
	Ratios  []Ratio       `json:"ratios,omitempty"`
}

// method is how all parts measure, in sentences.
func method() []string {
	return []string{
		"Every part runs in a process of its own, in network and mount namespaces of its own and below a folder that is removed.",
		"What is compared takes turns in one run, A B B A A B, after one round that does not count.",
		"A figure is the median of its repetitions with the least and the most; all of them are kept as raw numbers.",
		"A ratio of two figures that took turns is estimated from the pairs of their rounds (Hodges and Lehmann, on logarithms); the interval around it holds the truth with the confidence that stands beside it (Wilcoxon's signed ranks).",
		"The floor is the bare kernel or QEMU doing the same without taproom.",
	}
}

// ReadReport reads a report.json, or that of a folder.
func ReadReport(path string) (*Report, error) {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		path = filepath.Join(path, JSONFile)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := &Report{}
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("read the report %s: %w", path, err)
	}
	if r.Schema != Schema {
		return nil, fmt.Errorf("read the report %s: its form is %d and this taproom reads %d; make it again with taproom bench all", path, r.Schema, Schema)
	}
	return r, nil
}

// Part returns the result of that name, where it was measured.
func (r *Report) Part(name string) (*Result, bool) {
	i := slices.IndexFunc(r.Parts, func(p Result) bool { return p.Name == name && p.State == Measured && p.Report != nil })
	if i < 0 {
		return nil, false
	}
	return &r.Parts[i], true
}

// Write puts the three forms of the report into a folder.
func (r *Report) Write(dir string) error {
	b, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	page, err := r.Page()
	if err != nil {
		return fmt.Errorf("draw %s: %w", PageFile, err)
	}
	return errors.Join(
		replaceFile(filepath.Join(dir, JSONFile), append(b, '\n')),
		replaceFile(filepath.Join(dir, TextFile), []byte(r.Text())),
		replaceFile(filepath.Join(dir, PageFile), page),
	)
}

// replaceFile writes a file whole or not at all.
func replaceFile(path string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone, once it is renamed
	_, err = f.Write(b)
	err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close())
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return os.Rename(f.Name(), path)
}
