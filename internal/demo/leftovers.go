package demo

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// leftovers are links, firewall rules and processes that a daemon below root should have taken with it.
func leftovers(ctx context.Context, root string) []string {
	var left []string
	links, err := net.Interfaces()
	if err != nil {
		left = append(left, err.Error())
	}
	for _, l := range links {
		if l.Name != "lo" && l.Name != hostLink {
			left = append(left, "link "+l.Name)
		}
	}
	rules, err := exec.CommandContext(ctx, "nft", "list", "ruleset").Output()
	if err != nil {
		left = append(left, "nft list ruleset: "+err.Error())
	}
	if text := strings.TrimSpace(string(rules)); text != "" {
		left = append(left, "firewall rules: "+text)
	}
	return append(left, processes(root)...)
}

// processes are those whose command line names the root.
func processes(root string) []string {
	var left []string
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range lines {
		b, err := os.ReadFile(path)
		if err != nil { // it has ended meanwhile
			continue
		}
		if line := strings.ReplaceAll(string(b), "\x00", " "); strings.Contains(line, root+"/") {
			left = append(left, "process "+filepath.Base(filepath.Dir(path))+": "+line)
		}
	}
	return left
}
