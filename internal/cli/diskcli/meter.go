package diskcli

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/term"

	"taproom/disk"
	"taproom/internal/cli/show"
)

// meter tells people how many bytes have gone through; end wipes that.
func (env *Env) meter(what string) (p disk.Progress, end func()) {
	if !env.ErrTerminal {
		return nil, func() {}
	}
	const often = 100 * time.Millisecond
	var last time.Time
	p = func(done, _ int64) {
		if now := time.Now(); now.Sub(last) >= often {
			last = now
			fmt.Fprintf(env.Stderr, "\r%s: %s\x1b[K", what, show.Size(done))
		}
	}
	return p, func() {
		if !last.IsZero() {
			fmt.Fprint(env.Stderr, "\r\x1b[K")
		}
	}
}

// terminal is the descriptor of a reader or writer that is a terminal.
func terminal(rw any) (fd int, ok bool) {
	f, ok := rw.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	return int(f.Fd()), true
}

// argument is one that may be left out.
func argument(args []string, i int, or string) string {
	if i < len(args) {
		return args[i]
	}
	return or
}
