// Package hook runs the programs that an administrator has put beside guests and networks: libvirt's hooks (hooks.html). A
// program is called with the object's name, what happens to it, and a document on its standard input.
//
// What is guaranteed: programs run one after the other, hooks/KIND first and then those in hooks/KIND.d in the order of their
// names, each as the daemon's own user and unconfined, because it is the administrator's own. One that takes too long is
// killed with all that it started in its session. What is not: that a program is called for what a daemon did that was killed
// before it could call it.
package hook

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
)

// Kinds of objects that have hooks, by the names of their programs.
const (
	QEMU    = "qemu"
	Network = "network"
)

// DefaultWithin is how long a program may take where nobody says otherwise.
const DefaultWithin = time.Minute

// Limits of what a program says, in bytes: a document, and what goes into an error.
const (
	maxDocument = 16 << 20
	maxWords    = 1 << 10
)

// Hooks are the programs of one daemon. The zero value of Within is DefaultWithin.
type Hooks struct {
	Kernel *host.Kernel
	Dir    string // holds KIND and KIND.d; "" is none
	Within time.Duration
	Env    []string // of the programs
}

// Call is one thing that happens.
type Call struct {
	Kind      string // QEMU, Network
	Object    string // its name
	Operation string // libvirt's word: prepare, start, started, stopped, release…
	Phase     string // begin or end
	Document  []byte // what the program reads
}

// Error is a program that did not succeed.
type Error struct {
	Path string
	Call Call
	Exit host.Exit
	Late time.Duration // how long it had, when it took longer
	Said string        // the end of what it wrote to its standard error
}

// Error names the program, what it was called for and what became of it.
func (e *Error) Error() string {
	how := e.Exit.String()
	if e.Late != 0 {
		how = fmt.Sprintf("killed after %v", e.Late)
	}
	s := fmt.Sprintf("hook %s refuses: `%s %s %s %s -`: %s", e.Path, e.Path, e.Call.Object, e.Call.Operation, e.Call.Phase, how)
	if e.Said != "" {
		s += ": " + e.Said
	}
	return s
}

// Programs are those that a kind has, in the order in which they run. Files that nobody may execute are none, as with
// libvirt.
func (h *Hooks) Programs(kind string) ([]string, error) {
	if h.Dir == "" {
		return nil, nil
	}
	var out []string
	path := filepath.Join(h.Dir, kind)
	if executable(path) {
		out = append(out, path)
	}
	entries, err := os.ReadDir(path + ".d")
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENOTDIR) {
		return nil, fmt.Errorf("look for hooks: %w", err)
	}
	for _, f := range entries {
		if path := filepath.Join(path+".d", f.Name()); executable(path) {
			out = append(out, path)
		}
	}
	return out, nil
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// Run calls the programs of a kind until one fails, which is an *Error. It returns the document as they leave it: what one
// prints, if that is anything, is what the next one reads.
func (h *Hooks) Run(ctx context.Context, c Call) ([]byte, error) {
	paths, err := h.Programs(c.Kind)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		said, err := h.run(ctx, path, c)
		if err != nil {
			return nil, err
		}
		if len(bytes.TrimSpace(said)) > 0 {
			c.Document = said
		}
	}
	return c.Document, nil
}

// run calls one program.
func (h *Hooks) run(ctx context.Context, path string, c Call) ([]byte, error) {
	within := cmp.Or(h.Within, DefaultWithin)
	bounded, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	r, err := h.Kernel.Run(bounded, host.Program{
		Path: path, Args: []string{path, c.Object, c.Operation, c.Phase, "-"}, Env: h.Env, Input: c.Document, Most: maxDocument,
	})
	failed := &Error{Path: path, Call: c, Exit: r.Exit}
	switch late := bounded.Err() != nil && ctx.Err() == nil; {
	case err != nil && late:
		failed.Late = within
	case err != nil:
		return nil, fmt.Errorf("hook %s: %w", path, err)
	case r.Exit == (host.Exit{}):
		return r.Output, nil
	}
	failed.Said = strings.ToValidUTF8(r.Words[max(0, len(r.Words)-maxWords):], "?")
	return nil, failed
}
