package diskcli

import (
	"context"
	"io"
	"os"
)

// stdin is standard input of which a Read returns when ctx is done: the other end of a pipe may stay silent. A regular file stays as it is, since it
// is copied by a disk of its own.
func (env *Env) stdin(ctx context.Context) io.Reader {
	if f, ok := env.Stdin.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			return f
		}
	}
	r, w := io.Pipe()
	context.AfterFunc(ctx, func() { _ = w.CloseWithError(errInterrupted) })
	go func() {
		_, err := io.Copy(w, env.Stdin)
		_ = w.CloseWithError(err)
	}()
	return r
}
