package kbuild

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// edit is a change to a kernel's source: what is old, which stands in the file once, is replaced. Without it the text is appended, or
// becomes the file.
type edit struct{ file, old, with string }

// EditError says that the source is not as it was when a change to it was written.
type EditError struct {
	File string
	Want string // which is not in it, or more than once
}

// Error implements error.
func (e *EditError) Error() string {
	return fmt.Sprintf("this kernel's source is not the one that the configuration is for: %s should have once: %q", e.File, e.Want)
}

// apply changes a source.
func (e edit) apply(source string) error {
	path := filepath.Join(source, e.file)
	b, err := os.ReadFile(path)
	if err != nil && (e.old != "" || !errors.Is(err, fs.ErrNotExist)) {
		return err
	}
	text := string(b) + e.with
	if e.old != "" {
		if strings.Count(string(b), e.old) != 1 {
			return &EditError{e.file, e.old}
		}
		text = strings.Replace(string(b), e.old, e.with, 1)
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
