package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// hunk is a range of lines of the new file; both ends belong to it. Where lines were only removed it is the line before them.
type hunk struct{ from, to int }

// parseDiff returns the hunks of each file that the output of `git diff -U0 --no-prefix` names. Removed files are left out.
func parseDiff(diff string) (map[string][]hunk, error) {
	hunks := map[string][]hunk{}
	file := ""
	for line := range strings.Lines(diff) {
		line = strings.TrimRight(line, "\n")
		if name, ok := strings.CutPrefix(line, "+++ "); ok {
			if file = strings.TrimRight(name, "\t"); file == "/dev/null" {
				file = ""
			}
			continue
		}
		header, ok := strings.CutPrefix(line, "@@ ")
		if !ok || file == "" {
			continue
		}
		_, after, _ := strings.Cut(header, "+")
		span, _, _ := strings.Cut(after, " ")
		first, count, several := strings.Cut(span, ",")
		from, err := strconv.Atoi(first)
		n := 1
		if err == nil && several {
			n, err = strconv.Atoi(count)
		}
		if err != nil {
			return nil, fmt.Errorf("read the hunks of %s: invalid header %q", file, line)
		}
		hunks[file] = append(hunks[file], hunk{from, from + max(n, 1) - 1})
	}
	return hunks, nil
}

// testPackage is the test files of a folder: their names below the root, and their sources.
type testPackage map[string]string

// touched returns the tests of a package that a change touches: tests with a changed line, tests that use, directly or not, a
// changed declaration of a test file, and tests that read testdata where it changed.
func touched(files testPackage, hunks map[string][]hunk, testdata bool) ([]string, error) {
	fset := token.NewFileSet()
	uses := map[string]map[string]bool{} // declaration → identifiers and "testdata"
	changed := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := parser.ParseFile(fset, name, files[name], parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range f.Decls {
			from, to := fset.Position(d.Pos()).Line, fset.Position(d.End()).Line
			hit := slices.ContainsFunc(hunks[name], func(h hunk) bool { return h.from <= to && from <= h.to })
			for _, n := range declared(d) {
				if uses[n] == nil {
					uses[n] = map[string]bool{}
				}
				maps.Copy(uses[n], used(d))
				changed[n] = changed[n] || hit
			}
		}
	}
	var tests []string
	for n := range uses {
		if isTest(n) && reaches(n, uses, func(u string) bool { return changed[u] || testdata && u == "testdata/" }) {
			tests = append(tests, n)
		}
	}
	slices.Sort(tests)
	return tests, nil
}

// isTest reports whether go test runs a function of that name.
func isTest(name string) bool {
	rest, ok := strings.CutPrefix(name, "Test")
	return ok && name != "TestMain" && (rest == "" || rest[0] < 'a' || rest[0] > 'z')
}

// declared is the names of a declaration. Methods go by their own name: a call shows no more.
func declared(d ast.Decl) []string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		return []string{d.Name.Name}
	case *ast.GenDecl:
		var names []string
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
			case *ast.ValueSpec:
				for _, n := range s.Names {
					names = append(names, n.Name)
				}
			}
		}
		return names
	}
	return nil
}

// used is the identifiers of a declaration, and "testdata/" where a string in it begins with that folder.
func used(d ast.Decl) map[string]bool {
	names := map[string]bool{}
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			names[n.Name] = true
		case *ast.BasicLit:
			if n.Kind == token.STRING && strings.HasPrefix(strings.Trim(n.Value, "\"`"), "testdata") {
				names["testdata/"] = true
			}
		}
		return true
	})
	return names
}

// reaches reports whether a name, or a name that it uses directly or not, is wanted.
func reaches(name string, uses map[string]map[string]bool, wanted func(string) bool) bool {
	seen := map[string]bool{}
	var visit func(string) bool
	visit = func(n string) bool {
		if seen[n] {
			return false
		}
		seen[n] = true
		if wanted(n) {
			return true
		}
		for u := range uses[n] {
			if visit(u) {
				return true
			}
		}
		return false
	}
	return visit(name)
}

// packageOf is the folder whose tests a changed file belongs to, and whether it is testdata; "" for files that no test is made of.
func packageOf(file string) (folder string, testdata bool) {
	if before, _, ok := strings.Cut(file, "/testdata/"); ok {
		return before, true
	}
	if strings.HasSuffix(file, "_test.go") {
		return path.Dir(file), false
	}
	return "", false
}
