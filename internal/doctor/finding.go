package doctor

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Status grades a finding.
type Status string

// The grades, from best to worst; Unknown stands outside the order.
const (
	OK      Status = "ok"
	Warning Status = "warning" // works, but not as well as it could, or not for everything
	Problem Status = "problem" // something that guests need does not work
	Unknown Status = "unknown" // could not be found out
)

// Finding is one answer. Name is stable, for scripts.
type Finding struct {
	Name     string `json:"name"`
	Status   Status `json:"status"`
	Evidence string `json:"evidence"`
	Remedy   string `json:"remedy,omitempty"`
}

// Worst is the worst grade of all, Unknown counting as a warning; for an exit code.
func Worst(all []Finding) Status {
	worst := OK
	for _, f := range all {
		switch {
		case f.Status == Problem:
			return Problem
		case f.Status != OK:
			worst = Warning
		}
	}
	return worst
}

// WriteText writes findings for people: a line each, with the remedy below.
func WriteText(w io.Writer, all []Finding) error {
	var b strings.Builder
	width := 0
	for _, f := range all {
		width = max(width, len(f.Name))
	}
	for _, f := range all {
		fmt.Fprintf(&b, "%-8s %-*s  %s\n", f.Status, width, f.Name, f.Evidence)
		if f.Remedy != "" {
			fmt.Fprintf(&b, "%-8s %-*s  -> %s\n", "", width, "", f.Remedy)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteJSON writes findings for programs: {"findings": […]}.
func WriteJSON(w io.Writer, all []Finding) error {
	if all == nil {
		all = []Finding{}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(map[string][]Finding{"findings": all})
}
