package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// tree is the repo's Go source, parsed once.
type tree struct {
	root  string
	fset  *token.FileSet
	files []file
}

// file is one Go file; path is relative to the root.
type file struct {
	path  string
	lines int
	test  bool
	ast   *ast.File
}

func load(root string) (*tree, error) {
	t := &tree{root: root, fset: token.NewFileSet()}
	for _, top := range []string{"cmd", "internal", "disk"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
				return ignoreMissing(err)
			}
			return t.add(path)
		})
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

func ignoreMissing(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

func (t *tree) add(path string) error {
	src, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	parsed, err := parser.ParseFile(t.fset, path, src, parser.ParseComments)
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(t.root, path)
	if err != nil {
		return err
	}
	t.files = append(t.files, file{
		path: rel, lines: bytes.Count(src, []byte("\n")), test: strings.HasSuffix(path, "_test.go"), ast: parsed,
	})
	return nil
}

// functions calls visit for every function with its length in lines.
func (t *tree) functions(visit func(f file, d *ast.FuncDecl, lines int)) {
	for _, f := range t.files {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				visit(f, fn, t.fset.Position(fn.End()).Line-t.fset.Position(fn.Pos()).Line+1)
			}
		}
	}
}

// summary prints the figures that show where the code is going.
func (t *tree) summary() string {
	var files, funcs []int
	code, test := 0, 0
	for _, f := range t.files {
		if f.test {
			test += f.lines
			continue
		}
		code += f.lines
		files = append(files, f.lines)
	}
	t.functions(func(f file, _ *ast.FuncDecl, lines int) {
		if !f.test {
			funcs = append(funcs, lines)
		}
	})
	slices.Sort(files)
	slices.Sort(funcs)
	return fmt.Sprintf("files: median %d, longest %d lines; functions: median %d, p90 %d, longest %d; test to code %.2f (%d : %d lines)",
		at(files, 50), at(files, 100), at(funcs, 50), at(funcs, 90), at(funcs, 100), float64(test)/float64(max(code, 1)), test, code)
}

// at is the p-th percentile of sorted numbers.
func at(sorted []int, p int) int {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)*p/100, len(sorted)-1)]
}
