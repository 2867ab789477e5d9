package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

var generatedComment = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// generated complains of generated files that generating again would change. It does so in a copy of the repo, and only
// where there is anything to generate.
func generated(t *tree) []string {
	files, directives := marks(t)
	if directives == 0 {
		if len(files) > 0 {
			return []string{fmt.Sprintf("%v: generated, but no go:generate comment says how", files)}
		}
		return nil
	}
	fresh, err := os.MkdirTemp("", "repocheck-")
	if err != nil {
		return []string{err.Error()}
	}
	defer os.RemoveAll(fresh)
	if err := os.CopyFS(fresh, os.DirFS(t.root)); err != nil {
		return []string{"copy the repo: " + err.Error()}
	}
	c := exec.Command("go", "generate", "./...")
	c.Dir = fresh
	if out, err := c.CombinedOutput(); err != nil {
		return []string{fmt.Sprintf("go generate: %v: %s", err, out)}
	}
	var out []string
	for _, f := range files {
		is, _ := os.ReadFile(filepath.Join(t.root, f))
		want, err := os.ReadFile(filepath.Join(fresh, f))
		if err != nil || !bytes.Equal(is, want) {
			out = append(out, f+": generating it again changes it; run go generate ./... and commit")
		}
	}
	return out
}

// marks returns the generated files, and how many comments say how to generate.
func marks(t *tree) (files []string, directives int) {
	for _, f := range t.files {
		for _, g := range f.ast.Comments {
			for _, c := range g.List {
				if strings.HasPrefix(c.Text, "//go:generate ") {
					directives++
				}
			}
		}
		if isGenerated(f.ast) {
			files = append(files, f.path)
		}
	}
	return files, directives
}

func isGenerated(f *ast.File) bool {
	for _, g := range f.Comments {
		for _, c := range g.List {
			if g.Pos() < f.Package && generatedComment.MatchString(c.Text) {
				return true
			}
		}
	}
	return false
}
