package inside

import (
	"context"
	"fmt"
	"path"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/proto"
)

// searchPath is where programs are looked for, and what they get as PATH.
const searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// run runs a program of the tools, or of the tree.
func (s *system) run(ctx context.Context, r *proto.Call) (proto.Message, error) {
	var m proto.Run
	if err := r.Args(&m); err != nil {
		return nil, err
	}
	if len(m.Args) == 0 {
		return nil, fmt.Errorf("no program is named: %w", unix.EINVAL)
	}
	begin := s.outside
	if m.Inside {
		begin = s.within
	}
	p, done, err := begin(m)
	if err != nil {
		return nil, err
	}
	defer done()
	var status syscall.WaitStatus
	if m.Terminal {
		status, err = p.runOnTerminal(ctx, s, m.Size, r.In(), r.Out(proto.StreamOut))
	} else {
		status, err = p.run(ctx, &s.children, r.In(), r.Out(proto.StreamOut), r.Out(proto.StreamErr))
	}
	if err != nil {
		return nil, err
	}
	e := &proto.Exit{Status: uint32(max(status.ExitStatus(), 0))}
	if status.Signaled() {
		e.Signal = uint32(status.Signal())
	}
	return e, nil
}

// environment is what a program finds.
func environment(m proto.Run) []string {
	terminal := "dumb"
	if m.Terminal {
		terminal = "linux"
	}
	return append([]string{"PATH=" + searchPath, "HOME=/tmp", "LC_ALL=C.UTF-8", "TERM=" + terminal}, m.Env...)
}

// outside is a program of the tools, which sees the tree below its root.
func (s *system) outside(m proto.Run) (p process, done func(), err error) {
	if err := s.mountTools(); err != nil {
		return p, nil, err
	}
	program, err := lookPath(toolsRoot, m.Args[0])
	if err != nil {
		return p, nil, err
	}
	p = process{program: program, args: m.Args, dir: m.Dir, root: toolsRoot, env: environment(m)}
	if m.Tree == "" {
		return p, func() {}, nil
	}
	// Resolved as the tree's, and entered by its descriptor: no link of an image leads the program into the tools.
	dir, err := tree{toolsRoot + treeRoot}.open(m.Tree, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return p, nil, fmt.Errorf("run in %s: %w", m.Tree, err)
	}
	p.dir = procPath(dir)
	return p, func() { _ = dir.Close() }, nil
}

// within is a program of the tree, which sees nothing else.
func (s *system) within(m proto.Run) (p process, done func(), err error) {
	program, err := lookPath(s.tree.root, m.Args[0])
	if err != nil {
		return p, nil, err
	}
	done, err = s.kernelFolders()
	p = process{program: program, args: m.Args, dir: m.Dir, root: s.tree.root, env: environment(m)}
	if m.Tree != "" {
		p.dir = clean(m.Tree)
	}
	return p, done, err
}

// lookPath finds a program as a shell would.
func lookPath(root, name string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, dir := range strings.Split(searchPath, ":") {
		f, err := tree{root}.find(path.Join(dir, name), true)
		if err == nil {
			_ = f.Close()
			return path.Join(dir, name), nil
		}
	}
	where := "the tools have"
	if root != toolsRoot {
		where = "what is mounted has"
	}
	return "", fmt.Errorf("%s no program %s: %w", where, name, unix.ENOENT)
}
