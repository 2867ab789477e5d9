package disk

import "io"

// typed is input whose reading can be given up: a Read of a terminal blocks until a key is pressed, also when the program that reads has ended.
type typed struct {
	*io.PipeReader
	w *io.PipeWriter
}

// newTyped reads r from another goroutine, which ends with r, or with the Read that blocks when Stop is called.
func newTyped(r io.Reader) *typed {
	in, out := io.Pipe()
	go func() {
		_, err := io.Copy(out, r)
		_ = out.CloseWithError(err)
	}()
	return &typed{in, out}
}

// Stop implements proto.Stoppable.
func (t *typed) Stop() { _ = t.w.Close() }
