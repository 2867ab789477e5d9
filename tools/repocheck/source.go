package main

import (
	"fmt"
	"go/ast"
	"strings"
)

const (
	longestFile     = 400
	longestFunction = 100
)

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
		if strings.HasSuffix(f.path, "_test.go") || f.ast.Name.Name == "main" {
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

// habits complains of what hides flakiness or state: sleeping, init functions, work that outlives who asked for it.
func habits(t *tree) []string {
	var out []string
	for _, f := range t.files {
		if f.test && !strings.HasSuffix(f.path, "_test.go") {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			complain := func(what string) {
				out = append(out, fmt.Sprintf("%s: %s", t.fset.Position(n.Pos()), what))
			}
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Name.Name == "init" && n.Recv == nil {
					complain("an init function; let the caller ask for it")
				}
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Pdeathsig" {
					complain("Pdeathsig is of the thread that made the child; sandbox.StartTied or hosttest's StartTied keep it")
				}
			case *ast.SelectorExpr:
				switch name := selector(n); {
				case name == "time.Sleep":
					complain("time.Sleep waits for nothing; wait for the event, with a context")
				case (name == "context.Background" || name == "context.TODO") && !f.test && strings.HasPrefix(f.path, "internal/"):
					complain(name + " below cmd/; take the caller's context")
				}
			}
			return true
		})
	}
	return out
}

// selector is package.Name for an identifier of another package.
func selector(s *ast.SelectorExpr) string {
	if x, ok := s.X.(*ast.Ident); ok {
		return x.Name + "." + s.Sel.Name
	}
	return ""
}
