package main

import (
	"fmt"
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
		if f.test {
			for name := range f.ast.Scope.Objects {
				names[name] = true
			}
		}
	}
	makefile, _ := os.ReadFile(filepath.Join(t.root, "Makefile"))
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
				held = held || strings.Contains("\n"+string(makefile), "\n"+m[2]+":")
			default:
				held = true
			}
		}
		if !held {
			out = append(out, "PROMISES.md: no test, benchmark or command holds: "+row)
		}
	}
	return out
}

// documents complains of a shell block in the documents that no test script contains.
func documents(t *tree) []string {
	scripts, _ := filepath.Glob(filepath.Join(t.root, "internal/cli/testdata/docs/*.txtar"))
	var tested strings.Builder
	for _, s := range append(scripts, filepath.Join(t.root, "Makefile"), filepath.Join(t.root, ".ci/run")) {
		b, _ := os.ReadFile(s)
		tested.Write(b)
	}
	var out []string
	for _, name := range []string{"README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "PROMISES.md"} {
		text, err := os.ReadFile(filepath.Join(t.root, name))
		if err != nil {
			out = append(out, err.Error())
			continue
		}
		for _, command := range commands(string(text)) {
			if !strings.Contains(tested.String(), command) && !makeTarget(tested.String(), command) {
				out = append(out, fmt.Sprintf("%s: no test runs: %s", name, command))
			}
		}
	}
	return out
}

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

func makeTarget(tested, command string) bool {
	target, ok := strings.CutPrefix(command, "make ")
	target, _, _ = strings.Cut(target, " ")
	return ok && strings.Contains(tested, "\n"+target+":")
}
