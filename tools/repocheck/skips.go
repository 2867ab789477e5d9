package main

import (
	"fmt"
	"go/ast"
	"strings"
)

// lifts are words that say what lifts a skip: something to install, a target of the makefile, a variable to set, a module
// to unload.
var lifts = []string{"Debian: ", "make ", "TAPROOM_", "rmmod "}

// needs is the one function that skips what a kernel cannot run.
const needs = "internal/host/hosttest/needs.go"

// skips complains of tests that are skipped without a word on what lifts that. What the kernel lacks is for hosttest.Needs,
// which names the kernel that has it. A fuzz target may pass over an input, and so may a property.
func skips(t *tree) []string {
	var out []string
	for _, f := range t.files {
		if !f.test || f.path == needs {
			continue
		}
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil || strings.HasPrefix(fn.Name.Name, "Fuzz") {
				continue
			}
			for _, call := range skipped(fn.Type, fn.Body, "") {
				if !saysWhatLifts(call) {
					out = append(out, fmt.Sprintf("%s: a skip that nothing lifts: say what to install or to run, or let hosttest.Needs say which kernel", t.fset.Position(call.Pos())))
				}
			}
		}
	}
	return out
}

// skipped are the calls in a function that skip a test; outer is the name of the test around it.
func skipped(typ *ast.FuncType, body *ast.BlockStmt, outer string) []*ast.CallExpr {
	name := testParameter(typ, outer)
	var out []*ast.CallExpr
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			out = append(out, skipped(n.Type, n.Body, name)...)
			return false
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && strings.HasPrefix(s.Sel.Name, "Skip") && s.Sel.Name != "Skipped" {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == name {
					out = append(out, n)
				}
			}
		}
		return true
	})
	return out
}

// testParameter is the name of the test or benchmark inside a function, which outer is unless a parameter is another, or is
// something else of that name, as a property's is.
func testParameter(typ *ast.FuncType, outer string) string {
	for _, p := range typ.Params.List {
		of := p.Type
		if star, ok := of.(*ast.StarExpr); ok {
			of = star.X
		}
		s, ok := of.(*ast.SelectorExpr)
		for _, n := range p.Names {
			switch {
			case ok && strings.HasPrefix(selector(s), "testing."):
				return n.Name
			case n.Name == outer:
				outer = ""
			}
		}
	}
	return outer
}

func saysWhatLifts(call *ast.CallExpr) bool {
	if len(call.Args) == 0 {
		return false
	}
	text, ok := call.Args[0].(*ast.BasicLit)
	if !ok {
		return false
	}
	for _, l := range lifts {
		if strings.Contains(text.Value, l) {
			return true
		}
	}
	return false
}
