package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Lists of packages, below the repository's root. A line is a folder; what follows a # is a comment.
const (
	machinesFile = "tools/lane/machines.txt" // their tests start QEMU or a whole daemon; `make check` compares the list with the code
	mustFile     = "tools/lane/must.txt"     // their failed tests are never run again
)

// readList reads a list of packages and returns their import paths in module.
func readList(repo, file, module string) (map[string]bool, error) {
	text, err := os.ReadFile(filepath.Join(repo, file))
	if err != nil {
		return nil, err
	}
	packages := map[string]bool{}
	for n, line := range strings.Split(string(text), "\n") {
		line, _, _ = strings.Cut(line, "#")
		folder := strings.TrimSpace(line)
		if folder == "" {
			continue
		}
		if info, err := os.Stat(filepath.Join(repo, folder)); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("%s:%d: there is no folder %s; remove the line or correct it", file, n+1, folder)
		}
		packages[module+"/"+folder] = true
	}
	return packages, nil
}

// goList returns the module's path and the packages with tests that the patterns name.
func goList(ctx context.Context, repo string, patterns []string) (module string, packages []string, err error) {
	out, err := goOutput(ctx, repo, "list", "-m")
	if err != nil {
		return "", nil, err
	}
	module = strings.TrimSpace(out)
	args := []string{"list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}"}
	out, err = goOutput(ctx, repo, append(args, patterns...)...)
	if err != nil {
		return "", nil, err
	}
	packages = strings.Fields(out)
	if len(packages) == 0 {
		return "", nil, fmt.Errorf("no package with tests in %s", strings.Join(patterns, " "))
	}
	return module, packages, nil
}

func goOutput(ctx context.Context, dir string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, "go", args...)
	c.Dir = dir
	out, err := c.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return "", fmt.Errorf("go %s: %w: %s", args[0], err, strings.TrimSpace(string(exit.Stderr)))
	}
	return string(out), err
}

// group is packages of which so many are tested at a time.
type group struct {
	name     string
	packages []string
	parallel int
}

// split separates the packages with machines, whose tests run in sequence, from the others, which share the remaining processors.
func split(packages []string, machines map[string]bool) []group {
	with, without := group{name: "machines", parallel: 1}, group{name: "others", parallel: max(1, runtime.NumCPU()-1)}
	for _, p := range packages {
		if machines[p] {
			with.packages = append(with.packages, p)
		} else {
			without.packages = append(without.packages, p)
		}
	}
	return slices.DeleteFunc([]group{with, without}, func(g group) bool { return len(g.packages) == 0 })
}
