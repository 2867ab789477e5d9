package main

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Lists of the lane of tests (tools/lane) and of known flakes, below the root.
const (
	machinesFile = "tools/lane/machines.txt"
	mustFile     = "tools/lane/must.txt"
	flakesFile   = "flakes.txt"
)

// starters are packages that start QEMU or whole daemons for tests.
var starters = []string{"taproom/internal/daemon/daemontest", "taproom/internal/appliance/launchtest", "taproom/internal/sandbox"}

// machines complains of differences between the code and the list of packages whose tests start QEMU or a whole daemon. Their tests
// import or test a starter, or execute qemu-system-… themselves.
func machines(t *tree) []string {
	listed, err := folders(t, machinesFile)
	if err != nil {
		return []string{err.Error()}
	}
	found := map[string]bool{}
	for _, f := range t.files {
		folder := filepath.Dir(f.path)
		if strings.HasSuffix(f.path, "_test.go") && (startsMachines(f.ast) || slices.Contains(starters, "taproom/"+folder)) {
			found[folder] = true
		}
	}
	var out []string
	for _, p := range slices.Sorted(maps.Keys(found)) {
		if !listed[p] {
			out = append(out, fmt.Sprintf("%s: add %s: its tests start QEMU or a daemon", machinesFile, p))
		}
	}
	for _, p := range slices.Sorted(maps.Keys(listed)) {
		if !found[p] {
			out = append(out, fmt.Sprintf("%s: remove %s: its tests start neither QEMU nor a daemon", machinesFile, p))
		}
	}
	return out
}

// startsMachines reports whether a test file imports a starter, or looks up or executes QEMU.
func startsMachines(f *ast.File) bool {
	for _, i := range f.Imports {
		if path, err := strconv.Unquote(i.Path.Value); err == nil && slices.Contains(starters, path) {
			return true
		}
	}
	found := false
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		s, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || !slices.Contains([]string{"Command", "CommandContext", "LookPath"}, s.Sel.Name) {
			return true
		}
		for _, a := range call.Args {
			if l, ok := a.(*ast.BasicLit); ok && l.Kind == token.STRING && strings.Contains(l.Value, "qemu-system") {
				found = true
			}
		}
		return true
	})
	return found
}

// musts complains of packages without tests in the list of packages whose failed tests never run again.
func musts(t *tree) []string {
	listed, err := folders(t, mustFile)
	if err != nil {
		return []string{err.Error()}
	}
	for _, f := range t.files {
		if strings.HasSuffix(f.path, "_test.go") {
			delete(listed, filepath.Dir(f.path))
		}
	}
	var out []string
	for _, p := range slices.Sorted(maps.Keys(listed)) {
		out = append(out, fmt.Sprintf("%s: %s has no tests: remove or correct the line", mustFile, p))
	}
	return out
}

// folders reads a list of packages: a folder a line, and comments after a #.
func folders(t *tree, name string) (map[string]bool, error) {
	text, err := os.ReadFile(filepath.Join(t.root, name))
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line != "" {
			found[line] = true
		}
	}
	return found, nil
}

const (
	maxFlakes   = 5
	maxFlakeAge = 14 * 24 * time.Hour
)

// flakes complains of known flakes that are too many, too old or not described. A line of flakes.txt is
//
//	2026-11-24 | internal/qemu | TestName | first line of the failure | suspected cause
func flakes(now time.Time) func(*tree) []string {
	return func(t *tree) []string {
		text, err := os.Open(filepath.Join(t.root, flakesFile))
		if err != nil {
			return []string{err.Error()}
		}
		defer text.Close()
		var out []string
		n, known := 0, 0
		for in := bufio.NewScanner(text); in.Scan(); {
			n++
			line := strings.TrimSpace(in.Text())
			if line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			known++
			if complaint := flake(line, now); complaint != "" {
				out = append(out, fmt.Sprintf("%s:%d: %s", flakesFile, n, complaint))
			}
		}
		if known > maxFlakes {
			out = append(out, fmt.Sprintf("%s: %d known flakes, more than %d: repair some before anything else", flakesFile, known, maxFlakes))
		}
		return out
	}
}

// flake returns the complaint about a line of flakes.txt, "" for none.
func flake(line string, now time.Time) string {
	fields := strings.Split(line, "|")
	for i := range fields {
		fields[i] = strings.TrimSpace(fields[i])
	}
	if len(fields) != 5 || slices.Contains(fields, "") {
		return "it is not: date | package | test | first line of the failure | suspected cause"
	}
	since, err := time.Parse(time.DateOnly, fields[0])
	if err != nil {
		return fmt.Sprintf("invalid date %q: it is YYYY-MM-DD", fields[0])
	}
	if now.Sub(since) > maxFlakeAge {
		return fmt.Sprintf("%s is known since %s, more than %d days: repair it", fields[2], fields[0], maxFlakeAge/(24*time.Hour))
	}
	return ""
}
