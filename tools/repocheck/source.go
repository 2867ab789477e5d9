package main

import (
	"fmt"
	"go/ast"
	"strconv"
	"strings"
)

const (
	longestFile     = 400
	longestFunction = 100
)

// below lists, for each room, the rooms it may import. A room may always import itself and version.
var below = map[string][]string{
	"spec":      {},
	"version":   {},
	"host":      {},
	"qemu":      {"host"},
	"network":   {"host", "spec"},
	"guest":     {"qemu", "host", "spec"},
	"appliance": {"qemu", "host", "spec"},
	"api":       {"spec"},
	"engine":    {"api", "guest", "appliance", "network", "qemu", "host", "spec"},
	"doctor":    {"network", "qemu", "host", "spec"},
	"bench":     {"api", "engine", "guest", "appliance", "network", "qemu", "host", "spec"},
	"cli":       {"api", "appliance", "bench", "doctor", "engine", "guest", "host", "network", "qemu", "spec"},
}

// layers complains of imports that point up or sideways.
func layers(t *tree) []string {
	var out []string
	for _, f := range t.files {
		from, ok := roomOf(f.path)
		if !ok || f.test || strings.Contains(f.path, "test/") {
			continue
		}
		allowed, known := below[from]
		if !known {
			out = append(out, fmt.Sprintf("%s: room %q is in no layer: add it to repocheck and ARCHITECTURE.md", f.path, from))
			continue
		}
		for _, imp := range f.ast.Imports {
			path, _ := strconv.Unquote(imp.Path.Value)
			to, ours := roomOf(strings.TrimPrefix(path, "taproom/"))
			if !ours || !strings.HasPrefix(path, "taproom/") || to == from || to == "version" {
				continue
			}
			if !contains(allowed, to) {
				out = append(out, fmt.Sprintf("%s: %s may not import %s", f.path, from, path))
			}
		}
	}
	return out
}

func contains(list []string, s string) bool {
	for _, v := range list {
		if v == s {
			return true
		}
	}
	return false
}

// roomOf is the folder under internal/ that a path lies in.
func roomOf(path string) (string, bool) {
	rest, ok := strings.CutPrefix(path, "internal/")
	if !ok {
		return "", false
	}
	room, _, _ := strings.Cut(rest, "/")
	return room, true
}

// sizes complains of files and functions that hold more than one idea.
func sizes(t *tree) []string {
	var out []string
	for _, f := range t.files {
		if f.lines > longestFile {
			out = append(out, fmt.Sprintf("%s: %d lines, more than %d", f.path, f.lines, longestFile))
		}
	}
	t.functions(func(f file, d *ast.FuncDecl, lines int) {
		if lines > longestFunction {
			out = append(out, fmt.Sprintf("%s: %s has %d lines, more than %d", f.path, d.Name.Name, lines, longestFunction))
		}
	})
	return out
}

// documented complains of exports without a comment.
func documented(t *tree) []string {
	var out []string
	for _, f := range t.files {
		if f.test || f.ast.Name.Name == "main" {
			continue
		}
		for _, d := range f.ast.Decls {
			out = append(out, undocumented(f.path, d)...)
		}
	}
	return out
}

func undocumented(path string, d ast.Decl) []string {
	var out []string
	complain := func(name string) { out = append(out, fmt.Sprintf("%s: %s has no comment", path, name)) }
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && d.Doc == nil && receiverExported(d) && !wellKnown[d.Name.Name] {
			complain(d.Name.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() && d.Doc == nil && s.Doc == nil {
					complain(s.Name.Name)
				}
			case *ast.ValueSpec:
				for _, n := range s.Names {
					if n.IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
						complain(n.Name)
					}
				}
			}
		}
	}
	return out
}

// wellKnown are methods whose meaning the standard library fixes.
var wellKnown = map[string]bool{"Error": true, "Unwrap": true, "String": true, "Len": true, "Less": true, "Swap": true}

func receiverExported(d *ast.FuncDecl) bool {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return true
	}
	t := d.Recv.List[0].Type
	for {
		switch v := t.(type) {
		case *ast.StarExpr:
			t = v.X
		case *ast.IndexExpr:
			t = v.X
		case *ast.Ident:
			return v.IsExported()
		default:
			return true
		}
	}
}
