package toolbox

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// checkLibraries reports programs and libraries that ask for one which is nowhere in the tree.
func checkLibraries(root string) error {
	there, asked := map[string]bool{}, map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if strings.Contains(d.Name(), ".so") {
			there[d.Name()] = true
		}
		if !d.Type().IsRegular() {
			return nil
		}
		f, err := elf.Open(path)
		var other *elf.FormatError
		if errors.As(err, &other) || errors.Is(err, fs.ErrPermission) || err != nil && strings.Contains(err.Error(), "EOF") {
			return nil // no program
		}
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		needs, err := f.ImportedLibraries()
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for _, n := range needs {
			asked[n] = append(asked[n], strings.TrimPrefix(path, root+"/"))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("look for the tools' libraries: %w", err)
	}
	var missing []string
	for name, by := range asked {
		if !there[name] {
			missing = append(missing, fmt.Sprintf("%s, for %s", name, strings.Join(by, " ")))
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return fmt.Errorf("libraries are missing: %s", strings.Join(missing, "; "))
	}
	return nil
}
