package kernel

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"taproom/internal/appliance/modalias"
)

// Module is a kernel module, from what it says of itself.
type Module struct {
	Name    string
	File    string // as it is called in the initramfs
	Content []byte
	depends []string // module names, or aliases where soft is said
	aliases []string
}

// Tree finds modules in an unpacked kernel.
type Tree struct {
	paths   map[string]string // by module name
	builtin map[string]bool
}

// OpenModules lists the modules below a kernel's ModulesDir. "" has none.
func OpenModules(dir string) (*Tree, error) {
	t := &Tree{paths: map[string]string{}, builtin: map[string]bool{}}
	if dir == "" {
		return t, nil
	}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if strings.Contains(filepath.Base(path), ".ko") {
			t.paths[modalias.Name(path)] = path
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for kernel modules: %w", err)
	}
	builtin, err := os.ReadFile(filepath.Join(dir, "modules.builtin"))
	if err != nil {
		return nil, fmt.Errorf("look for what is built into the kernel: %w", err)
	}
	for _, file := range strings.Fields(string(builtin)) {
		t.builtin[modalias.Name(file)] = true
	}
	return t, nil
}

// Closure returns the wanted modules and everything they depend on, sorted by name. A module that this kernel does not
// have is left out when it was asked for, and an error when another depends on it.
func (t *Tree) Closure(ctx context.Context, wanted []string) ([]Module, error) {
	found := map[string]Module{}
	var add func(name string) error
	add = func(name string) error {
		if _, ok := found[name]; ok || t.builtin[name] {
			return nil
		}
		path := t.paths[name]
		if path == "" {
			return fmt.Errorf("module %s: %w", name, fs.ErrNotExist)
		}
		m, err := readModule(ctx, path)
		if err != nil {
			return err
		}
		found[name] = m
		for _, d := range m.depends {
			if err := add(d); err != nil {
				return fmt.Errorf("which %s needs: %w", name, err)
			}
		}
		return nil
	}
	for _, name := range wanted {
		if t.paths[name] == "" {
			continue
		}
		if err := add(name); err != nil {
			return nil, fmt.Errorf("collect kernel modules: %w", err)
		}
	}
	list := make([]Module, 0, len(found))
	for _, m := range found {
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b Module) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// readModule reads a module's file, decompressed, and its modinfo.
func readModule(ctx context.Context, path string) (Module, error) {
	content, err := os.ReadFile(path)
	if err == nil && !strings.HasSuffix(path, ".ko") {
		content, err = decompressModule(ctx, path, content)
	}
	if err != nil {
		return Module{}, fmt.Errorf("read kernel module: %w", err)
	}
	f, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		return Module{}, fmt.Errorf("read kernel module %s: %w", path, err)
	}
	section := f.Section(".modinfo")
	if section == nil {
		return Module{}, fmt.Errorf("read kernel module %s: it has no .modinfo", path)
	}
	info, err := section.Data()
	if err != nil {
		return Module{}, fmt.Errorf("read kernel module %s: %w", path, err)
	}
	m := parseModinfo(info)
	m.Name, m.Content = modalias.Name(path), content
	m.File = m.Name + ".ko"
	return m, nil
}

// decompressModule unpacks a module file, in which, unlike in a kernel image, nothing follows the stream.
func decompressModule(ctx context.Context, path string, b []byte) ([]byte, error) {
	switch filepath.Ext(path) {
	case ".xz":
		return pipe(ctx, b, "xz", "--decompress", "--stdout")
	case ".zst":
		return pipe(ctx, b, "zstd", "--decompress", "--stdout")
	case ".gz":
		return decompress(ctx, b)
	}
	return nil, errors.New(path + ": not a kind of module file that is known")
}

// parseModinfo reads a list of NUL-ended KEY=VALUE.
func parseModinfo(info []byte) Module {
	var m Module
	for _, field := range bytes.Split(info, []byte{0}) {
		key, value, _ := strings.Cut(string(field), "=")
		switch key {
		case "alias":
			if !strings.ContainsAny(value, " \n") {
				m.aliases = append(m.aliases, value)
			}
		case "depends":
			for name := range strings.SplitSeq(value, ",") {
				if name != "" {
					m.depends = append(m.depends, strings.ReplaceAll(name, "-", "_"))
				}
			}
		}
	}
	return m
}

// Tables returns modules.dep and modules.alias for a closed set of modules. depmod would need a whole tree, and kmod.
func Tables(modules []Module) (dep, alias string) {
	byName := map[string]Module{}
	for _, m := range modules {
		byName[m.Name] = m
	}
	var d, a strings.Builder
	for _, m := range modules {
		// What is to be loaded first comes last.
		var order []string
		var visit func(string)
		visit = func(name string) {
			dependency, ok := byName[name]
			if !ok || slices.Contains(order, dependency.File) {
				return
			}
			for _, n := range dependency.depends {
				visit(n)
			}
			order = append(order, dependency.File)
		}
		for _, name := range m.depends {
			visit(name)
		}
		slices.Reverse(order)
		fmt.Fprintf(&d, "%s\n", strings.TrimSpace(m.File+": "+strings.Join(order, " ")))
		for _, pattern := range m.aliases {
			fmt.Fprintf(&a, "alias %s %s\n", pattern, m.Name)
		}
	}
	return d.String(), a.String()
}

// Nodes returns modules.devname for a closed set of modules: the device files that are there before their drivers, which the
// kernel asks for when one is opened. A line is a module, a path below /dev, and the file's kind and number: "c10:236".
func Nodes(modules []Module) string {
	var b strings.Builder
	for _, m := range modules {
		var path, number string
		for _, alias := range m.aliases {
			var major, minor int
			if name, ok := strings.CutPrefix(alias, "devname:"); ok {
				path = name
			} else if n, _ := fmt.Sscanf(alias, "char-major-%d-%d", &major, &minor); n == 2 {
				number = fmt.Sprintf("c%d:%d", major, minor)
			} else if n, _ := fmt.Sscanf(alias, "block-major-%d-%d", &major, &minor); n == 2 {
				number = fmt.Sprintf("b%d:%d", major, minor)
			}
		}
		if path != "" && number != "" {
			fmt.Fprintf(&b, "%s %s %s\n", m.Name, path, number)
		}
	}
	return b.String()
}
