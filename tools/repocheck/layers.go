package main

import (
	"fmt"
	"go/ast"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// module is the path all our imports begin with.
const module = "taproom/internal/"

// public is the one room that other programs may import. It lies beside internal/.
const public = "disk"

// packageOf is the path that a room's imports begin with.
func packageOf(room string) string {
	if room == public {
		return "taproom/" + public
	}
	return module + room
}

// folderOf is where a room lies.
func folderOf(room string) string { return strings.TrimPrefix(packageOf(room), "taproom/") }

// below lists, for each room, the rooms it may import. Every room may also import version.
var below = map[string][]string{
	"api":       {"spec"},
	"appliance": {"api", "host", "image", "qemu", "spec"},
	"bench":     {"api", "appliance", "disk", "engine", "guest", "host", "network", "qemu", "sandbox", "spec"},
	"cli":       {"api", "appliance", "bench", "demo", "disk", "doctor", "engine", "host", "qemu", "sandbox"},
	"daemon":    {"api", "engine", "host"},
	"demo":      {"api", "appliance", "engine", "sandbox"},
	"disk":      {"appliance"},
	"doctor":    {"host", "network", "qemu", "spec"},
	"engine":    {"api", "appliance", "guest", "host", "image", "network", "qemu", "spec"},
	"guest":     {"host", "qemu", "spec"},
	"host":      {},
	"image":     {},
	"network":   {"host", "spec"},
	"qemu":      {"host"},
	"sandbox":   {},
	"spec":      {},
	"version":   {},
}

// layers complains of imports that point up or sideways, and of rooms that are in no layer. Tests, and the packages that
// only tests use, may import anything.
func layers(t *tree) []string {
	var out []string
	unknown := map[string]bool{}
	for _, f := range t.files {
		from, ok := roomOf(f.path)
		if !ok || f.test {
			continue
		}
		allowed, known := below[from]
		if !known {
			unknown[from] = true
			continue
		}
		for _, path := range imports(f.ast) {
			to, ours := roomOf(strings.TrimPrefix(path, "taproom/"))
			if ours && strings.HasPrefix(path, "taproom/") && to != from && to != "version" && !slices.Contains(allowed, to) {
				out = append(out, fmt.Sprintf("%s: %s may not import %s", f.path, from, path))
			}
		}
	}
	for _, room := range slices.Sorted(maps.Keys(unknown)) {
		out = append(out, fmt.Sprintf("%s: the room is in no layer: add it to tools/repocheck, .golangci.yml and ARCHITECTURE.md", folderOf(room)))
	}
	return out
}

func imports(f *ast.File) []string {
	out := make([]string, len(f.Imports))
	for i, s := range f.Imports {
		out[i], _ = strconv.Unquote(s.Path.Value)
	}
	return out
}

// roomOf is the folder under internal/ that a path lies in, or the public one.
func roomOf(path string) (string, bool) {
	if path == public || strings.HasPrefix(path, public+"/") {
		return public, true
	}
	rest, ok := strings.CutPrefix(path, "internal/")
	if !ok {
		return "", false
	}
	room, _, _ := strings.Cut(rest, "/")
	return room, true
}

// linterConfig is the part of .golangci.yml that says who may import whom.
type linterConfig struct {
	Linters struct {
		Settings struct {
			Depguard struct {
				Rules map[string]linterRule `yaml:"rules"`
			} `yaml:"depguard"`
		} `yaml:"settings"`
	} `yaml:"linters"`
}

type linterRule struct {
	Files []string `yaml:"files"`
	Mode  string   `yaml:"list-mode"`
	Allow []string `yaml:"allow"`
	Deny  []denied `yaml:"deny"`
}

type denied struct {
	Pkg   string         `yaml:"pkg"`
	Desc  string         `yaml:"desc"`
	Other map[string]any `yaml:",inline"` // a description with a comma and no quotes ends up here
}

// depguard complains where the linter's layers are not these: it is silent about a rule that it does not understand.
func depguard(t *tree) []string {
	text, err := os.ReadFile(filepath.Join(t.root, ".golangci.yml"))
	if err != nil {
		return []string{err.Error()}
	}
	var c linterConfig
	if err := yaml.Unmarshal(text, &c); err != nil {
		return []string{".golangci.yml: " + err.Error()}
	}
	var out []string
	rules := c.Linters.Settings.Depguard.Rules
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		for _, d := range rules[name].Deny {
			if len(d.Other) > 0 {
				out = append(out, fmt.Sprintf(".golangci.yml: depguard %s: unknown keys %v: quote the description", name, d.Other))
			}
		}
	}
	for _, room := range slices.Sorted(maps.Keys(below)) {
		r, ok := rules[room]
		want := []string{packageOf(room), module + "version"}
		for _, b := range below[room] {
			want = append(want, packageOf(b))
		}
		slices.Sort(want)
		want = slices.Compact(want)
		if !ok || !slices.Equal(r.Allow, want) || r.Mode != "lax" || len(r.Deny) != 1 || r.Deny[0].Pkg != "taproom" ||
			!slices.Contains(r.Files, "**/"+folderOf(room)+"/**") {
			out = append(out, fmt.Sprintf(".golangci.yml: depguard %s: want a lax rule that denies taproom and allows %v; it allows %v", room, want, r.Allow))
		}
	}
	return out
}

// architecture complains of rooms that ARCHITECTURE.md does not describe, or describes with other imports.
func architecture(t *tree) []string {
	text, err := os.ReadFile(filepath.Join(t.root, "ARCHITECTURE.md"))
	if err != nil {
		return []string{err.Error()}
	}
	said := map[string]string{}
	room := ""
	heading := regexp.MustCompile("^### `(?:internal/)?([a-z]+)`$")
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if m := heading.FindStringSubmatch(line); m != nil {
			room = m[1]
			said[room] = ""
		} else if list, ok := strings.CutPrefix(line, "Imports: "); ok && room != "" {
			said[room] = list
		}
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(below)) {
		want := strings.Join(below[name], ", ") + "."
		if len(below[name]) == 0 {
			want = "none of ours."
		}
		if got, ok := said[name]; !ok || got != want {
			out = append(out, fmt.Sprintf("ARCHITECTURE.md: ### `%s` wants a line \"Imports: %s\"; it has %q", folderOf(name), want, got))
		}
		delete(said, name)
	}
	for _, name := range slices.Sorted(maps.Keys(said)) {
		out = append(out, fmt.Sprintf("ARCHITECTURE.md: there is no room %s", folderOf(name)))
	}
	return out
}
