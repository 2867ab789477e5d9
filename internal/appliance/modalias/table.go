package modalias

import (
	"bufio"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// Alias says that a device which matches Pattern, or somebody who asks for it by that name, wants Module.
type Alias struct {
	Pattern string
	Module  string
}

// Table knows modules, what they depend on, and what asks for them.
type Table struct {
	files   map[string]string   // module name → file
	depends map[string][]string // module name → files to load before, in modules.dep's order: the last first
	aliases []Alias
}

// Name returns the name of the module in a file: the kernel writes "_" where file names may have "-".
func Name(file string) string {
	name := path.Base(file)
	if i := strings.Index(name, ".ko"); i >= 0 {
		name = name[:i]
	}
	return strings.ReplaceAll(name, "-", "_")
}

// ReadTable reads the contents of modules.dep and modules.alias.
func ReadTable(dep, alias io.Reader) (*Table, error) {
	t := &Table{files: map[string]string{}, depends: map[string][]string{}}
	err := lines(dep, func(line string) error {
		file, rest, found := strings.Cut(line, ":")
		if !found {
			return fmt.Errorf("modules.dep: no colon in %q", line)
		}
		name := Name(file)
		t.files[name] = file
		t.depends[name] = strings.Fields(rest)
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = lines(alias, func(line string) error {
		f := strings.Fields(line)
		if len(f) != 3 || f[0] != "alias" {
			return fmt.Errorf("modules.alias: %q is not \"alias PATTERN MODULE\"", line)
		}
		t.aliases = append(t.aliases, Alias{Pattern: f[1], Module: f[2]})
		return nil
	})
	return t, err
}

func lines(r io.Reader, each func(string) error) error {
	s := bufio.NewScanner(r)
	for s.Scan() {
		line := strings.TrimSpace(s.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		if err := each(line); err != nil {
			return err
		}
	}
	return s.Err()
}

// Modules returns the names of the modules that want, a device's modalias or a module's name, asks for. There may be
// several, or none.
func (t *Table) Modules(want string) []string {
	if name := strings.ReplaceAll(want, "-", "_"); t.files[name] != "" {
		return []string{name}
	}
	var names []string
	for _, a := range t.aliases {
		if !slices.Contains(names, a.Module) && Match(a.Pattern, want) {
			names = append(names, a.Module)
		}
	}
	return names
}

// LoadOrder returns the files to load for a module, what it depends on first.
func (t *Table) LoadOrder(module string) []string {
	file := t.files[module]
	if file == "" {
		return nil
	}
	order := slices.Clone(t.depends[module])
	slices.Reverse(order)
	return append(order, file)
}

// Match reports whether name matches a modules.alias pattern: "*", "?" and "[a-c]" as in fnmatch(3), with "/" an
// ordinary character, and "-" and "_" the same. A malformed pattern matches nothing.
func Match(pattern, name string) bool {
	// One retry point is enough: a later "*" can match whatever an earlier one could.
	star, mark := -1, 0
	p, n := 0, 0
	for n < len(name) {
		if p < len(pattern) && pattern[p] == '*' {
			star, mark = p, n
			p++
			continue
		}
		if size, ok := matchOne(pattern[p:], name[n]); ok {
			p += size
			n++
			continue
		}
		if star < 0 {
			return false
		}
		mark++
		p, n = star+1, mark
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// matchOne matches a character with the start of a pattern, and returns how much of the pattern that took.
func matchOne(pattern string, c byte) (int, bool) {
	if pattern == "" {
		return 0, false
	}
	switch pattern[0] {
	case '?':
		return 1, true
	case '[':
		end := strings.IndexByte(pattern, ']')
		if end < 0 {
			return 0, false
		}
		return end + 1, inClass(pattern[1:end], c)
	}
	return 1, fold(pattern[0]) == fold(c)
}

func inClass(class string, c byte) bool {
	for i := 0; i < len(class); i++ {
		if i+2 < len(class) && class[i+1] == '-' {
			if class[i] <= c && c <= class[i+2] {
				return true
			}
			i += 2
			continue
		}
		if class[i] == c {
			return true
		}
	}
	return false
}

func fold(c byte) byte {
	if c == '-' {
		return '_'
	}
	return c
}
