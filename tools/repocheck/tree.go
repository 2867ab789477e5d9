package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
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

// file is one Go file; path is relative to the root. Test says that only tests use it: a test, or a file of a package
// whose name ends in test.
type file struct {
	path  string
	lines int
	test  bool
	ast   *ast.File
}

func load(root string) (*tree, error) {
	t := &tree{root: root, fset: token.NewFileSet()}
	for _, top := range []string{"cmd", "disk", "examples", "internal"} {
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
		path: rel, lines: bytes.Count(src, []byte("\n")), ast: parsed,
		test: strings.HasSuffix(path, "_test.go") || strings.HasSuffix(filepath.Base(filepath.Dir(rel)), "test"),
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

// summary is the figures that show where the code is going.
func (t *tree) summary() string {
	var files, funcs []int
	code, test := map[string]int{}, map[string]int{}
	sum := [2]int{}
	for _, f := range t.files {
		room, ok := roomOf(f.path)
		if !ok {
			room, _, _ = strings.Cut(f.path, "/")
		}
		if f.test {
			test[room] += f.lines
			sum[1] += f.lines
			continue
		}
		code[room] += f.lines
		sum[0] += f.lines
		files = append(files, f.lines)
	}
	t.functions(func(f file, _ *ast.FuncDecl, lines int) {
		if !f.test {
			funcs = append(funcs, lines)
		}
	})
	slices.Sort(files)
	slices.Sort(funcs)
	var b strings.Builder
	fmt.Fprintf(&b, "files      %d, median %d lines, longest %d\n", len(files), at(files, 50), at(files, 100))
	fmt.Fprintf(&b, "functions  %d, median %d lines, 9 of 10 below %d, longest %d\n", len(funcs), at(funcs, 50), at(funcs, 90), at(funcs, 100))
	fmt.Fprintf(&b, "test:code  %s\n", ratio(sum[1], sum[0]))
	for _, room := range slices.Sorted(maps.Keys(code)) {
		fmt.Fprintf(&b, "  %-9s %s\n", room, ratio(test[room], code[room]))
	}
	return b.String()
}

func ratio(test, code int) string {
	return fmt.Sprintf("%.2f  (%d : %d lines)", float64(test)/float64(max(code, 1)), test, code)
}

// at is the p-th percentile of sorted numbers.
func at(sorted []int, p int) int {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)*p/100, len(sorted)-1)]
}
