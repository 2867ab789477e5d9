package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/ast"
	"go/scanner"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// profileLine is a block of a profile of coverage: taproom/internal/host/a.go:3.15,5.2 1 1. It begins in line 3, and the last number is 0
// where it was not executed.
var profileLine = regexp.MustCompile(`^taproom/(\S+\.go):(\d+)\.\S+ \d+ (\d+)$`)

// parseProfile returns the lines of each file, named below the root, in which an executed block begins.
func parseProfile(text string) (map[string][]int, error) {
	executed := map[string][]int{}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "mode: ") {
			continue
		}
		m := profileLine.FindStringSubmatch(line)
		if m == nil {
			return nil, fmt.Errorf("%q is no block of a profile of coverage", line)
		}
		if m[3] == "0" {
			continue
		}
		n, err := strconv.Atoi(m[2])
		if err != nil {
			return nil, fmt.Errorf("%q is no block of a profile of coverage: %w", line, err)
		}
		executed[m[1]] = append(executed[m[1]], n)
	}
	return executed, nil
}

// counted is a file of which the operations execute something: some functions, or all of them.
type counted struct {
	path      string
	functions []string // by name, methods behind their type
}

// countedCode returns the code of countedRooms that was executed, in the order of paths: executed functions, files of declarations alone
// in their packages, and all functions of the package confined.
func (t *tree) countedCode(executed map[string][]int) []counted {
	packages := map[string]bool{}
	for f := range executed {
		packages[path.Dir(f)] = true
	}
	var out []counted
	for _, f := range t.files {
		room, ok := roomOf(f.path)
		if !ok || f.test || !slices.Contains(countedRooms, room) {
			continue
		}
		c := counted{path: f.path}
		bodies := 0
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			bodies++
			from, to := t.fset.Position(fn.Pos()).Line, t.fset.Position(fn.End()).Line
			if path.Dir(f.path) == confined || slices.ContainsFunc(executed[f.path], func(line int) bool { return from <= line && line <= to }) {
				c.functions = append(c.functions, functionName(fn))
			}
		}
		slices.Sort(c.functions)
		c.functions = slices.Compact(c.functions) // several of them are called init or _
		if len(c.functions) > 0 || bodies == 0 && len(f.ast.Decls) > 0 && packages[path.Dir(f.path)] {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b counted) int { return strings.Compare(a.path, b.path) })
	return out
}

// functionName is the name of a function, a method's behind its type: Kernel.Step.
func functionName(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) != 1 {
		return fn.Name.Name
	}
	name := ""
	ast.Inspect(fn.Recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && name == "" {
			name = id.Name
		}
		return name == ""
	})
	return name + "." + fn.Name.Name
}

// digest is a digest of the code of a counted file without its comments and blanks: types, variables, constants, and the functions that
// are counted. It is "" when the tree lacks the file.
func (t *tree) digest(c counted) (string, error) {
	i := slices.IndexFunc(t.files, func(f file) bool { return f.path == c.path })
	if i < 0 {
		return "", nil
	}
	src, err := os.ReadFile(filepath.Join(t.root, c.path))
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, d := range t.files[i].ast.Decls {
		switch d := d.(type) {
		case *ast.GenDecl:
			if d.Tok == token.IMPORT {
				continue
			}
		case *ast.FuncDecl:
			if !slices.Contains(c.functions, functionName(d)) {
				continue
			}
		}
		h.Write(tokens(src[t.fset.Position(d.Pos()).Offset:t.fset.Position(d.End()).Offset]))
	}
	return hex.EncodeToString(h.Sum(nil)[:8]), nil
}

// tokens returns source without its comments and blanks.
func tokens(src []byte) []byte {
	var s scanner.Scanner
	files := token.NewFileSet()
	s.Init(files.AddFile("", files.Base(), len(src)), src, nil, 0)
	var out []byte
	for {
		_, tok, text := s.Scan()
		switch {
		case tok == token.EOF:
			return out
		case tok == token.SEMICOLON:
			text = ";" // a line's end and a semicolon are the same
		case text == "":
			text = tok.String()
		}
		out = append(append(out, text...), '\n')
	}
}
