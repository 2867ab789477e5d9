package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Touch notes that a file was used now.
func (k *Kernel) Touch(path string) error {
	k.Step("file touch " + filepath.Base(path))
	now := time.Now()
	return os.Chtimes(path, now, now)
}

// ByTime lists the files that match a pattern (filepath.Match), those that were touched last at the end.
func (k *Kernel) ByTime(pattern string) ([]string, error) {
	k.Step("directory read " + filepath.Base(filepath.Dir(pattern)))
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return nil, err
	}
	times := map[string]time.Time{}
	paths = slices.DeleteFunc(paths, func(path string) bool {
		st, serr := os.Lstat(path)
		if serr == nil {
			times[path] = st.ModTime()
		} else if !errors.Is(serr, fs.ErrNotExist) {
			err = serr
		}
		return serr != nil
	})
	slices.SortStableFunc(paths, func(a, b string) int { return times[a].Compare(times[b]) })
	return paths, err
}
