package replica

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// A copy has no permissions that its originals lack.
func TestCreate_GivesACopyNoMorePermissionsThanItsOriginals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		of      []fs.FileMode
		foreign bool // the first is another group's
		want    fs.FileMode
	}{
		"private":        {of: []fs.FileMode{0o600}, want: 0o600},
		"read-only":      {of: []fs.FileMode{0o400}, want: 0o600},
		"of a group":     {of: []fs.FileMode{0o640}, want: 0o640},
		"public":         {of: []fs.FileMode{0o644}, want: 0o644},
		"backing file":   {of: []fs.FileMode{0o644, 0o600}, want: 0o600},
		"another group":  {of: []fs.FileMode{0o640}, foreign: true, want: 0o600},
		"and everybody":  {of: []fs.FileMode{0o664}, foreign: true, want: 0o644},
		"of nothing":     {want: 0o600},
		"executable too": {of: []fs.FileMode{0o755}, want: 0o644},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var of []fs.FileInfo
			for i, mode := range c.of {
				path := filepath.Join(dir, string(rune('a'+i)))
				if err := os.WriteFile(path, nil, 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.Chmod(path, mode); err != nil {
					t.Fatal(err)
				}
				if c.foreign && i == 0 {
					if os.Getuid() != 0 {
						return // root alone gives a file another group
					}
					if err := os.Chown(path, -1, os.Getgid()+1); err != nil {
						t.Fatal(err)
					}
				}
				info, err := os.Stat(path)
				if err != nil {
					t.Fatal(err)
				}
				of = append(of, info)
			}
			made := filepath.Join(dir, "made")
			f, err := Create(made, of...)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if err := f.Commit(); err != nil {
				t.Fatal(err)
			}
			if info, err := os.Stat(made); err != nil || info.Mode().Perm() != c.want {
				t.Errorf("%v, %v, want %o", info.Mode(), err, c.want)
			}
		})
	}
}
