package disk

import (
	"context"
	"errors"
	"fmt"
	"path"
)

// SideError is an error of one of the trees that Diff compares.
type SideError struct {
	Side int // 0 for the first tree, 1 for the second
	Err  error
}

// Error implements error.
func (e *SideError) Error() string {
	return []string{"the first tree: ", "the second tree: "}[e.Side] + e.Err.Error()
}

// Unwrap returns the cause.
func (e *SideError) Unwrap() error { return e.Err }

// side is the first or second folder.
type side struct {
	number int
	a      *Appliance
	top    string
	names  sorter
	// missed are the paths that could not be looked at, or of which the content could not be read to its end.
	missed   map[string]bool
	problems problems
	err      error // the names are not all there
}

// mostMissed bounds the paths of a tree that are left out: a damaged image can have any number of them.
const mostMissed = 1 << 16

func (s *side) fails(err error) error { return &SideError{s.number, err} }

// relative is a path of the appliance's tree from the folder that is compared.
func (s *side) relative(at string) string {
	if s.top == "/" {
		return at
	}
	return path.Join("/", at[len(s.top):])
}

// lacks reports whether a path that is not among the names is known to be missing: neither it nor a folder above it was left out.
func (s *side) lacks(at string) bool {
	for len(s.missed) > 0 {
		if s.missed[at] {
			return false
		}
		if at == "/" {
			return true
		}
		at = path.Dir(at)
	}
	return true
}

// read sorts all names below the folder, and the folder itself.
func (s *side) read(ctx context.Context) error {
	top, err := s.a.Stat(ctx, s.top, true)
	if err != nil {
		return s.fails(err)
	}
	top.Path = "/"
	if err := s.names.add(top); err != nil || !top.Mode.IsDir() {
		return err
	}
	var sorting error // on the host
	err = s.a.walk(ctx, s.top, FindOptions{}, func(i Info) error {
		i.Path = s.relative(i.Path)
		sorting = s.names.add(i)
		return sorting
	}, func(e *PathError) error {
		if len(s.missed) == mostMissed {
			return fmt.Errorf("more than %d paths cannot be read: %w", mostMissed, e)
		}
		s.missed[s.relative(e.Path)] = true
		s.problems.add(s.fails(e))
		return nil
	})
	if err == nil || sorting != nil {
		return errors.Join(sorting, err)
	}
	return s.fails(err)
}

// at is the path in the appliance's tree.
func (s *side) at(i Info) string { return path.Join(s.top, i.Path) }
