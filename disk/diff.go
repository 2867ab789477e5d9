package disk

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"sync"
)

// ChangeKind says how a path differs between two trees.
type ChangeKind string

// Kinds of differences.
const (
	Added   ChangeKind = "added"   // it is in the second tree alone
	Removed ChangeKind = "removed" // it is in the first tree alone
	Changed ChangeKind = "changed"
)

// Difference is a path that is not the same in two trees.
type Difference struct {
	Path string // from the folders that were compared; "/" for these
	Kind ChangeKind
	// Parts names the parts of a Changed path that differ: "type", "mode", "owner", "size", "content", "target" (of a symbolic link), "device"
	// (the number of a device node), "time" (of modification) and "xattrs". Files of different sizes have different content too.
	Parts []string
	Old   *Info // nil for Added
	New   *Info // nil for Removed
}

// DiffOptions says how Diff compares.
type DiffOptions struct {
	// Quick takes a regular file for unchanged, without reading it, where size, owner, mode, and the times of modification and of the last change of the
	// inode are the same, to the nanosecond. An overlay and its backing file agree so on every file that was not written to.
	Quick bool
	// IgnoreTimes leaves out differences that are in the time of modification alone.
	IgnoreTimes bool
}

// DiffSummary counts paths.
type DiffSummary struct {
	Added, Removed, Changed int
	Compared                int // paths that both trees have
}

// comparers is how many files are compared at the same time: each waits for answers of both appliances.
const comparers = 8

// Diff calls each for every path that differs between the folders of two trees, in the order of paths: a folder
// before the names in it. Names and attributes are sorted in temporary files without a name, so the memory does not grow with the trees. Hard links
// are compared as files of their own. A folder's own size is not compared. Paths that cannot be read in one of the trees are left out, with the paths below
// them, and so is content that cannot be read; these are returned at the end as *PathError. An error of each ends the comparison. Errors of one of
// the trees are in a *SideError.
func Diff(ctx context.Context, a *Appliance, folderA string, b *Appliance, folderB string, o DiffOptions, each func(Difference) error) (s DiffSummary, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var sides [2]side
	var walks sync.WaitGroup
	for i, from := range []struct {
		a  *Appliance
		at string
	}{{a, folderA}, {b, folderB}} {
		sides[i] = side{number: i, a: from.a, missed: map[string]bool{}, top: path.Clean("/" + from.at)}
		defer sides[i].names.close()
		walks.Go(func() {
			if sides[i].err = sides[i].read(ctx); sides[i].err != nil {
				cancel()
			}
		})
	}
	walks.Wait()
	for i := range sides {
		if sides[i].err != nil && !errors.Is(sides[i].err, context.Canceled) {
			return s, sides[i].err
		}
	}
	if ctx.Err() != nil {
		return s, context.Cause(ctx)
	}
	d := differ{a: &sides[0], b: &sides[1], o: o, summary: &s}
	err = d.run(ctx, each)
	return s, errors.Join(err, sides[0].problems.joined(), sides[1].problems.joined(), d.problems.joined())
}

// differ merges the names of two sides.
type differ struct {
	a, b    *side
	o       DiffOptions
	summary *DiffSummary
	// problems are of files that both trees have.
	problems problems
}

// outcome is a difference, or none.
type outcome struct {
	d       Difference
	problem error // a part of the path was not compared
	err     error
}

// run compares pairs at the same time, and reports in order.
func (d *differ) run(ctx context.Context, each func(Difference) error) error {
	ctx, cancel := context.WithCancel(ctx)
	queue := make(chan chan outcome, comparers)
	merged := make(chan error, 1)
	go func() {
		defer close(queue)
		merged <- d.merge(ctx, queue)
	}()
	var failed error
	for result := range queue {
		r := <-result
		if failed != nil {
			continue
		}
		if r.problem != nil {
			d.problems.add(r.problem)
		}
		if r.err == nil && r.d.Kind != "" {
			d.count(r.d.Kind)
			r.err = each(r.d)
		}
		if failed = r.err; failed != nil {
			cancel()
		}
	}
	cancel()
	if err := <-merged; failed == nil {
		failed = err
	}
	return failed
}

func (d *differ) count(k ChangeKind) {
	switch k {
	case Added:
		d.summary.Added++
	case Removed:
		d.summary.Removed++
	case Changed:
		d.summary.Changed++
	}
}

// merge goes through both lists of names side by side.
func (d *differ) merge(ctx context.Context, queue chan<- chan outcome) error {
	left, err := d.a.names.merged()
	if err != nil {
		return err
	}
	right, err := d.b.names.merged()
	if err != nil {
		return err
	}
	for {
		one, haveOne, err := left.peek()
		if err != nil {
			return err
		}
		two, haveTwo, err := right.peek()
		if err != nil || !haveOne && !haveTwo {
			return err
		}
		order := 0
		if haveOne && haveTwo {
			order = comparePaths(one.Path, two.Path)
		}
		result := make(chan outcome, 1)
		switch {
		case !haveTwo || order < 0:
			left.take()
			if !d.b.lacks(one.Path) {
				continue
			}
			result <- outcome{d: Difference{Path: one.Path, Kind: Removed, Old: &one}}
		case !haveOne || order > 0:
			right.take()
			if !d.a.lacks(two.Path) {
				continue
			}
			result <- outcome{d: Difference{Path: two.Path, Kind: Added, New: &two}}
		default:
			left.take()
			right.take()
			d.summary.Compared++
			go func() { result <- d.pair(ctx, one, two) }()
		}
		select {
		case queue <- result:
		case <-ctx.Done():
			<-result // no goroutine outlives the comparison
			return context.Cause(ctx)
		}
	}
}

// pair compares a path that both sides have.
func (d *differ) pair(ctx context.Context, one, two Info) outcome {
	r := outcome{d: Difference{Path: one.Path, Old: &one, New: &two}}
	r.d.Parts = d.attributes(one, two)
	same := len(r.d.Parts) == 0 && one.ModTime.Equal(two.ModTime) && one.ChangeTime.Equal(two.ChangeTime)
	if one.Mode.Type() == two.Mode.Type() && !(d.o.Quick && same) {
		more, err := d.contents(ctx, one, two)
		if err != nil {
			r.problem = err
			if ctx.Err() != nil || d.a.a.a.Agent().Err() != nil || d.b.a.a.Agent().Err() != nil { // the other paths cannot be read either
				r.problem, r.err = nil, err
				return r
			}
		}
		r.d.Parts = append(r.d.Parts, more...)
	}
	if !d.o.IgnoreTimes && !one.ModTime.Equal(two.ModTime) {
		r.d.Parts = append(r.d.Parts, "time")
	}
	if len(r.d.Parts) > 0 {
		r.d.Kind = Changed
	}
	return r
}

// attributes compares the results of lstat, but for times.
func (d *differ) attributes(one, two Info) (parts []string) {
	if one.Mode.Type() != two.Mode.Type() {
		return []string{"type"}
	}
	if one.Mode != two.Mode {
		parts = append(parts, "mode")
	}
	if one.UID != two.UID || one.GID != two.GID {
		parts = append(parts, "owner")
	}
	if one.Target != two.Target {
		parts = append(parts, "target")
	}
	if one.Mode.Type()&fs.ModeDevice != 0 && one.Rdev != two.Rdev {
		parts = append(parts, "device")
	}
	if one.Mode.IsRegular() && one.Size != two.Size {
		parts = append(parts, "size", "content")
	}
	return parts
}

// unread is the error of a file that a side cannot read.
func (s *side) unread(i Info, err error) error {
	return s.fails(&PathError{Op: "compare", Path: s.at(i), Err: err})
}

// contents compares the bytes of regular files, and extended attributes. The parts that differ are returned with an error too.
func (d *differ) contents(ctx context.Context, one, two Info) (parts []string, err error) {
	if one.Mode.IsRegular() && one.Size == two.Size && one.Size > 0 {
		same, failed := d.sameBytes(ctx, one, two)
		if err = failed; err == nil && !same {
			parts = append(parts, "content")
		}
	}
	old, failed := d.a.a.Xattrs(ctx, d.a.at(one), false)
	if failed != nil {
		return parts, errors.Join(err, d.a.unread(one, failed))
	}
	now, failed := d.b.a.Xattrs(ctx, d.b.at(two), false)
	if failed != nil {
		return parts, errors.Join(err, d.b.unread(two, failed))
	}
	if !maps.EqualFunc(old, now, bytes.Equal) {
		parts = append(parts, "xattrs")
	}
	return parts, err
}

// sameBytes reads two files side by side, up to the first difference.
func (d *differ) sameBytes(ctx context.Context, one, two Info) (same bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	left, right := newReading(ctx, d.a.a, d.a.at(one)), newReading(ctx, d.b.a, d.b.at(two))
	defer right.stop()
	defer left.stop()
	const piece = 64 << 10
	x, y := make([]byte, piece), make([]byte, piece)
	for {
		n, errOne := io.ReadFull(left.r, x)
		m, errTwo := io.ReadFull(right.r, y)
		if unlessEnd(errOne) != nil {
			return false, d.a.unread(one, errOne)
		}
		if unlessEnd(errTwo) != nil {
			return false, d.b.unread(two, errTwo)
		}
		if !slices.Equal(x[:n], y[:m]) {
			return false, nil
		}
		if errOne != nil || errTwo != nil {
			return true, nil
		}
	}
}

// unlessEnd is the error of a read that did not come to the end of the file.
func unlessEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// reading is a file of an appliance as a reader.
type reading struct {
	r    *io.PipeReader
	done chan struct{}
}

func newReading(ctx context.Context, a *Appliance, at string) reading {
	r, w := io.Pipe()
	out := reading{r, make(chan struct{})}
	go func() {
		defer close(out.done)
		_ = w.CloseWithError(a.Read(ctx, at, 0, -1, w))
	}()
	return out
}

// stop gives up the rest of the file.
func (r reading) stop() {
	_ = r.r.Close()
	<-r.done
}
