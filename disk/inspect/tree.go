package inspect

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// What is read at most.
const (
	mostText     = 1 << 20   // bytes of a configuration file
	mostDatabase = 256 << 20 // bytes of a database of packages
	mostEntries  = 100_000   // names of a folder
	mostPackages = 200_000
	mostString   = 4096 // bytes of a string in the result
	mostLinks    = 40   // symbolic links on the way to a file, as in Linux
	mostProblems = 100
)

// tree is a file system that nobody has reason to trust.
type tree struct {
	fs       fs.FS
	problems []Problem
}

// problem writes down what is wrong with a file. That one is not there is none.
func (t *tree) problem(name string, err error) {
	if err == nil || errors.Is(err, fs.ErrNotExist) || len(t.problems) >= mostProblems {
		return
	}
	var p *fs.PathError
	if errors.As(err, &p) && p.Path == name {
		err = p.Err
	}
	t.problems = append(t.problems, Problem{Path: "/" + name, What: clip(err.Error())})
}

// open opens a file, through symbolic links within the tree.
func (t *tree) open(name string) (fs.File, error) {
	f, err := t.fs.Open(name)
	if err == nil {
		return f, nil
	}
	// An absolute link leads out of a map or an os.Root, but not out of what would be at / in the running system.
	if real, ok := t.resolve(name); ok && real != name {
		return t.fs.Open(real)
	}
	return nil, err
}

// resolve follows the symbolic links on the way to a file, the last one too. It is false where a file is missing, or there are too many.
func (t *tree) resolve(name string) (string, bool) {
	links, ok := t.fs.(fs.ReadLinkFS)
	if !ok {
		return "", false
	}
	done, rest := ".", strings.Split(path.Clean(name), "/")
	for left := mostLinks; len(rest) > 0; {
		at := path.Join(done, rest[0])
		info, err := links.Lstat(at)
		if err != nil {
			return "", false
		}
		rest = rest[1:]
		if info.Mode().Type() != fs.ModeSymlink {
			done = at
			continue
		}
		target, err := links.ReadLink(at)
		if left--; err != nil || left < 0 || len(target) > mostString {
			return "", false
		}
		if !path.IsAbs(target) {
			target = path.Join("/", done, target)
		}
		target = strings.Trim(path.Clean("/"+target), "/")
		done = "."
		if target != "" {
			rest = append(strings.Split(target, "/"), rest...)
		}
	}
	return done, true
}

// link is what a symbolic link says, or "".
func (t *tree) link(name string) string {
	links, ok := t.fs.(fs.ReadLinkFS)
	if !ok {
		return ""
	}
	target, err := links.ReadLink(name)
	if err != nil {
		return ""
	}
	return clip(target)
}

// read reads a file of at most so many bytes. A longer one, and what is no regular file, is an error.
func (t *tree) read(name string, most int64) ([]byte, error) {
	f, size, err := t.regular(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size > most {
		return nil, fmt.Errorf("it has %d bytes, more than the %d that are read of it", size, most)
	}
	var b bytes.Buffer
	n, err := io.Copy(&b, io.LimitReader(f, most+1))
	if err == nil && n > most {
		err = fmt.Errorf("it has more than the %d bytes that are read of it", most)
	}
	return b.Bytes(), err
}

// regular opens a regular file.
func (t *tree) regular(name string) (fs.File, int64, error) {
	f, err := t.open(name)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("it is no regular file, but %v", info.Mode().Type())
	}
	if err != nil {
		_ = f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// text is what a configuration file says; "" where it is not there or cannot be read, which is written down.
func (t *tree) text(name string) string {
	b, err := t.read(name, mostText)
	if err != nil {
		t.problem(name, err)
		return ""
	}
	return string(bytes.ToValidUTF8(b, []byte("\uFFFD")))
}

// line is the first line of a file that is neither empty nor a comment.
func (t *tree) line(name string) string {
	for line := range strings.Lines(t.text(name)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return clip(line)
		}
	}
	return ""
}

// exists reports whether there is such a file or folder.
func (t *tree) exists(name string) bool {
	_, err := t.stat(name)
	return err == nil
}

func (t *tree) stat(name string) (fs.FileInfo, error) {
	info, err := fs.Stat(t.fs, name)
	if err == nil {
		return info, nil
	}
	if real, ok := t.resolve(name); ok && real != name {
		return fs.Stat(t.fs, real)
	}
	return nil, err
}

// isDir reports whether there is such a folder.
func (t *tree) isDir(name string) bool {
	info, err := t.stat(name)
	return err == nil && info.IsDir()
}

// names are those in a folder, sorted; none where it is not there or cannot be read, which is written down.
func (t *tree) names(name string) []string {
	f, err := t.open(name)
	if err != nil {
		t.problem(name, err)
		return nil
	}
	defer f.Close()
	dir, ok := f.(fs.ReadDirFile)
	if !ok {
		t.problem(name, errors.New("it is no folder"))
		return nil
	}
	var out []string
	for len(out) < mostEntries {
		list, err := dir.ReadDir(1000)
		for _, e := range list {
			out = append(out, e.Name())
		}
		if errors.Is(err, io.EOF) || (err == nil && len(list) == 0) {
			slices.Sort(out)
			return out
		}
		if err != nil {
			t.problem(name, err)
			slices.Sort(out)
			return out
		}
	}
	t.problem(name, fmt.Errorf("it has more than the %d names that are read of it", mostEntries))
	slices.Sort(out)
	return out
}

// first is the first of some files that is there, or "".
func (t *tree) first(names ...string) string {
	for _, name := range names {
		if t.exists(name) {
			return name
		}
	}
	return ""
}

// clip bounds a string of the tree.
func clip(s string) string {
	if len(s) > mostString {
		s = strings.ToValidUTF8(s[:mostString], "")
	}
	return s
}
