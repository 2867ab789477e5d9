package disk

import (
	"bufio"
	"cmp"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
)

// sorter sorts files by their paths. At most sortedInMemory bytes of them are in memory; the others are in temporary files without a name. Close it.
type sorter struct {
	chunk []Info
	size  int // bytes that the chunk takes, about
	all   int64
	runs  []*os.File
	// memory bounds a chunk, in bytes; 0: sortedInMemory.
	memory int
}

const (
	sortedInMemory = 16 << 20
	// mostSorted bounds the temporary files of a tree, in bytes: an image can claim to have any number of names.
	mostSorted = 8 << 30
)

// comparePaths orders paths so that a folder's names follow the folder. "/" sorts before every other byte.
func comparePaths(one, two string) int {
	n := min(len(one), len(two))
	for i := range n {
		if x, y := one[i], two[i]; x != y {
			if x == '/' || y != '/' && x < y {
				return -1
			}
			return 1
		}
	}
	return cmp.Compare(len(one), len(two))
}

// add takes a file.
func (s *sorter) add(i Info) error {
	const fixed = 256 // an Info and its share of the slice
	n := fixed + len(i.Path) + len(i.Target)
	s.chunk = append(s.chunk, i)
	s.size += n
	s.all += int64(n)
	if s.all > mostSorted {
		return fmt.Errorf("there are more names than are compared: they take %d GiB; compare a folder of the tree", int64(mostSorted)>>30)
	}
	if s.size < cmp.Or(s.memory, sortedInMemory) {
		return nil
	}
	return s.spill()
}

func (s *sorter) sortChunk() {
	slices.SortFunc(s.chunk, func(x, y Info) int { return comparePaths(x.Path, y.Path) })
}

// spill writes the chunk to a file of its own.
func (s *sorter) spill() error {
	s.sortChunk()
	f, err := os.CreateTemp("", "taproom-names-")
	if err == nil {
		err = errors.Join(err, os.Remove(f.Name()))
		s.runs = append(s.runs, f)
	}
	if err != nil {
		return fmt.Errorf("sort names: %w", err)
	}
	b := bufio.NewWriter(f)
	e := gob.NewEncoder(b)
	for i := range s.chunk {
		s.chunk[i].Name = "" // the end of the path
		if err := e.Encode(&s.chunk[i]); err != nil {
			return fmt.Errorf("sort names: %w; make room in %s", err, os.TempDir())
		}
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("sort names: %w; make room in %s", err, os.TempDir())
	}
	clear(s.chunk)
	s.chunk, s.size = s.chunk[:0], 0
	return nil
}

// close removes the temporary files.
func (s *sorter) close() {
	for _, f := range s.runs {
		_ = f.Close()
	}
}

// merged returns all files in order. Nothing is added afterwards.
func (s *sorter) merged() (*sorted, error) {
	s.sortChunk()
	out := &sorted{}
	rest := s.chunk
	sources := []func() (Info, error){func() (i Info, err error) {
		if len(rest) == 0 {
			return i, io.EOF
		}
		i, rest = rest[0], rest[1:]
		return i, nil
	}}
	for _, f := range s.runs {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
		d := gob.NewDecoder(bufio.NewReader(f))
		sources = append(sources, func() (i Info, err error) {
			err = d.Decode(&i)
			return i, err
		})
	}
	for _, next := range sources {
		if err := out.advance(next); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// head is the next file of a source.
type head struct {
	Info
	next func() (Info, error)
}

// sorted merges sorted sources.
type sorted struct {
	heads []head
	err   error
}

// advance reads the next file of a source, which is in no head.
func (s *sorted) advance(next func() (Info, error)) error {
	i, err := next()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read sorted names: %w", err)
	}
	i.Name = path.Base(i.Path)
	s.heads = append(s.heads, head{i, next})
	return nil
}

// peek returns the next file; ok is false at the end.
func (s *sorted) peek() (i Info, ok bool, err error) {
	if s.err != nil || len(s.heads) == 0 {
		return i, false, s.err
	}
	at := 0
	for i := range s.heads {
		if comparePaths(s.heads[i].Path, s.heads[at].Path) < 0 {
			at = i
		}
	}
	s.heads[0], s.heads[at] = s.heads[at], s.heads[0]
	return s.heads[0].Info, true, nil
}

// take removes the file that peek returned.
func (s *sorted) take() {
	next := s.heads[0].next
	last := len(s.heads) - 1
	s.heads[0] = s.heads[last]
	s.heads = s.heads[:last]
	s.err = s.advance(next)
}
