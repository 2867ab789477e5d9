package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

// emulates are packages that tests boot emulated machines with, or bound their waits with: a package whose tests import one
// measures waits by the machine it runs on.
var emulates = []string{"taproom/internal/appliance/launchtest", "taproom/internal/daemon/daemontest", "taproom/internal/qemu/emutest"}

// limits are calls that take a duration or a time after which a wait ends.
var limits = []string{
	"context.WithDeadline", "context.WithDeadlineCause", "context.WithTimeout", "context.WithTimeoutCause", "net.DialTimeout",
	"time.After", "time.AfterFunc", "time.NewTimer",
}

// waitReason begins a comment on a line whose wait is absolute for a reason.
const waitReason = "wait: "

// waits complains of seconds and minutes that bound a wait in packages whose tests boot emulated machines: on a slow host they
// pass while the machine boots. A wait that has to pass, or that no machine has a part in, says so on its line: // wait: reason.
func waits(t *tree) []string {
	var out []string
	for dir, files := range emulating(t) {
		seconds := secondsNamed(files)
		for _, f := range files {
			excused := excusedLines(t.fset, f)
			ast.Inspect(f.ast, func(n ast.Node) bool {
				for _, limit := range limitsIn(n) {
					if isSeconds(limit, seconds) && !excused[t.fset.Position(limit.Pos()).Line] {
						pos := t.fset.Position(limit.Pos())
						out = append(out, fmt.Sprintf("%s:%d: a wait in absolute seconds; use emutest, or say // wait: reason", filepath.Join(dir, filepath.Base(f.path)), pos.Line))
					}
				}
				return true
			})
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// emulating are the test files of packages whose tests boot emulated machines, by folder.
func emulating(t *tree) map[string][]file {
	all := map[string][]file{}
	boots := map[string]bool{}
	for _, f := range t.files {
		if !f.test {
			continue
		}
		dir := filepath.Dir(f.path)
		all[dir] = append(all[dir], f)
		boots[dir] = boots[dir] || slices.Contains(emulates, "taproom/"+dir) && dir != "internal/qemu/emutest" ||
			slices.ContainsFunc(imports(f.ast), func(path string) bool { return slices.Contains(emulates, path) })
	}
	for dir := range all {
		if !boots[dir] {
			delete(all, dir)
		}
	}
	return all
}

// limitsIn are the expressions in a node, not below it, that bound a wait: arguments of limits, what is added to the time that
// it is now, and what a duration is compared with.
func limitsIn(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.CallExpr:
		s, ok := n.Fun.(*ast.SelectorExpr)
		if !ok {
			return nil
		}
		if now, ok := s.X.(*ast.CallExpr); ok && s.Sel.Name == "Add" {
			if of, ok := now.Fun.(*ast.SelectorExpr); ok && selector(of) == "time.Now" {
				return n.Args
			}
		}
		if slices.Contains(limits, selector(s)) {
			return n.Args
		}
	case *ast.BinaryExpr:
		if n.Op == token.LSS || n.Op == token.GTR || n.Op == token.LEQ || n.Op == token.GEQ {
			return []ast.Expr{n.X, n.Y}
		}
	}
	return nil
}

// isSeconds reports whether an expression is a number of seconds or minutes, or a name of one.
func isSeconds(e ast.Expr, seconds map[string]bool) bool {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return isSeconds(e.X, seconds)
	case *ast.BinaryExpr:
		return (e.Op == token.MUL || e.Op == token.ADD) && (isSeconds(e.X, seconds) || isSeconds(e.Y, seconds))
	case *ast.Ident:
		return seconds[e.Name]
	case *ast.SelectorExpr:
		return slices.Contains([]string{"time.Second", "time.Minute"}, selector(e))
	}
	return false
}

// secondsNamed are the constants of a package's tests that are a number of seconds or minutes.
func secondsNamed(files []file) map[string]bool {
	named := map[string]bool{}
	for _, f := range files {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == len(v.Names) {
				for i, name := range v.Names {
					named[name.Name] = named[name.Name] || isSeconds(v.Values[i], nil)
				}
			}
			return true
		})
	}
	return named
}

// excusedLines are the lines of a file that say why they wait so long.
func excusedLines(fset *token.FileSet, f file) map[int]bool {
	lines := map[int]bool{}
	for _, g := range f.ast.Comments {
		for _, c := range g.List {
			if reason, ok := strings.CutPrefix(strings.TrimSpace(strings.TrimPrefix(c.Text, "//")), waitReason); ok && strings.TrimSpace(reason) != "" {
				lines[fset.Position(c.Pos()).Line] = true
			}
		}
	}
	return lines
}
