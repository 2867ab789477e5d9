package host

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// MemoryFile returns a file without a name that holds content and is positioned at its start. It is gone with its last
// descriptor, so it announces itself to nobody. Unlike a pipe it takes any length, and nobody waits for who reads or writes.
func MemoryFile(name string, content []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make a file in memory: %w", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err := f.WriteAt(content, 0); err != nil {
		_ = f.Close() // nothing was written that anybody has
		return nil, fmt.Errorf("write a file in memory: %w", err)
	}
	return f, nil
}

// Program is a program that runs to its end.
type Program struct {
	Path  string
	Args  []string // argv, with argv[0]
	Env   []string // the whole environment; nil is empty
	Input []byte   // what it reads from its standard input
	Most  int64    // bytes that are read of what it prints, and of its words
	// Begun, where it is not nil, is told the number of the process as soon as there is one.
	Begun func(pid int)
}

// Ran is what became of a Program.
type Ran struct {
	Output []byte
	Words  string // what it said on standard error, without space around
	Exit   Exit
}

// Run runs a program in the Kernel's network namespace, and waits. How the program ends is no error of Run's; that it printed
// more than Most is an ErrTooLarge. When ctx ends first the program is killed, with all that it started in its session, and
// the error is ctx's cause. It reads and writes files in memory, so that neither side waits for the other, and what it leaves
// behind may keep them.
func (k *Kernel) Run(ctx context.Context, p Program) (Ran, error) {
	if ctx.Err() != nil { // it could be over before anybody asks
		return Ran{}, context.Cause(ctx)
	}
	var files [3]*os.File
	for i, content := range [][]byte{p.Input, nil, nil} {
		f, err := MemoryFile(p.Args[0], content)
		if err != nil {
			return Ran{}, err
		}
		defer f.Close()
		files[i] = f
	}
	child, err := k.Start(ProcessSpec{Path: p.Path, Args: p.Args, Env: p.Env, Stdin: files[0], Stdout: files[1], Stderr: files[2], NetNS: true})
	if err != nil {
		return Ran{}, err
	}
	defer child.Close()
	if p.Begun != nil {
		p.Begun(child.PID)
	}
	var r Ran
	if r.Exit, err = child.Wait(ctx); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		_ = k.KillSession(child) // one that has just ended is reaped all the same
		_, _ = child.Wait(context.WithoutCancel(ctx))
	}
	words, werr := printed(files[2], p.Most)
	r.Words = strings.TrimSpace(string(words))
	if err != nil {
		return r, err
	}
	if werr != nil && r.Exit != (Exit{}) {
		r.Words = werr.Error()
	}
	r.Output, err = printed(files[1], p.Most)
	return r, err
}

// printed is what a program wrote to a file.
func printed(f *os.File, most int64) ([]byte, error) {
	b, err := io.ReadAll(io.NewSectionReader(f, 0, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("what it printed: %w (%d bytes)", ErrTooLarge, most)
	}
	return b, err
}
