package main

import (
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// promises complains of rows in PROMISES.md whose test or benchmark does not exist.
func promises(t *tree) []string {
	text, err := os.ReadFile(filepath.Join(t.root, "PROMISES.md"))
	if err != nil {
		return []string{err.Error()}
	}
	names := map[string]bool{}
	for _, f := range t.files {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && f.test {
				names[fn.Name.Name] = true
			}
		}
	}
	makefile, _ := os.ReadFile(filepath.Join(t.root, "Makefile"))
	members, _ := os.ReadFile(filepath.Join(t.root, "internal/bench/member.go"))
	var out []string
	holder := regexp.MustCompile("`(?:(Test\\w+|Benchmark\\w+)|make ([\\w-]+)[^`]*|taproom bench ([\\w-]+)[^`]*)`")
	for _, row := range strings.Split(string(text), "\n") {
		if !strings.HasPrefix(row, "| ") || strings.HasPrefix(row, "| ---") || strings.HasPrefix(row, "| what") {
			continue
		}
		held := false
		for _, m := range holder.FindAllStringSubmatch(row, -1) {
			switch {
			case m[1] != "":
				held = held || names[m[1]]
			case m[2] != "":
				held = held || makeTarget(string(makefile), "make "+m[2])
			default:
				held = held || strings.Contains(string(members), `{Name: "`+m[3]+`"`)
			}
		}
		if !held {
			out = append(out, "PROMISES.md: no test, benchmark or command holds: "+row)
		}
	}
	return out
}

// documents complains of lines in the documents' shell blocks that no script of the command line's tests contains. Make's
// targets are tested by whoever runs them before a change is taken.
func documents(t *tree) []string {
	scripts, _ := filepath.Glob(filepath.Join(t.root, "internal/cli/testdata/docs/*.txtar"))
	tested := map[string]bool{}
	for _, s := range scripts {
		b, _ := os.ReadFile(s)
		for line := range strings.Lines(string(b)) {
			tested[strings.TrimSpace(line)] = true
		}
	}
	makefile, _ := os.ReadFile(filepath.Join(t.root, "Makefile"))
	var out []string
	for _, name := range []string{"README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "PROMISES.md"} {
		text, err := os.ReadFile(filepath.Join(t.root, name))
		if err != nil {
			out = append(out, err.Error())
			continue
		}
		for _, command := range commands(string(text)) {
			if !tested[command] && !makeTarget(string(makefile), command) {
				out = append(out, fmt.Sprintf("%s: no test runs: %s", name, command))
			}
		}
		for _, m := range mention.FindAllStringSubmatch(string(text), -1) {
			if !makeTarget(string(makefile), m[1]) {
				out = append(out, fmt.Sprintf("%s: speaks of %s, and there is no such target", name, m[1]))
			}
		}
	}
	return out
}

// mention is one of the makefile's targets in a sentence.
var mention = regexp.MustCompile("`(make [\\w-]+)[^`]*`")

// commands are the lines of the shell blocks.
func commands(text string) []string {
	var out []string
	in := false
	for _, line := range strings.Split(text, "\n") {
		switch {
		case strings.HasPrefix(line, "```"):
			in = strings.HasPrefix(line, "```sh")
		case in && strings.TrimSpace(line) != "":
			command, _, _ := strings.Cut(line, "  #")
			out = append(out, strings.TrimSpace(command))
		}
	}
	return out
}

// makeTarget reports whether command is one of the makefile's.
func makeTarget(makefile, command string) bool {
	target, ok := strings.CutPrefix(command, "make ")
	target, _, _ = strings.Cut(target, " ")
	return ok && strings.Contains("\n"+makefile, "\n"+target+":")
}
