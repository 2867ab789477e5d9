package diskcli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"taproom/disk"
)

// line is what a program reads of one image.
type line struct {
	Image  string  `json:"image"`
	Result any     `json:"result,omitempty"`
	Error  string  `json:"error,omitempty"`
	TookMS float64 `json:"took_ms"`
}

// tally is how it went with several images.
type tally struct {
	Images   int `json:"images"`
	Done     int `json:"done"`
	Failed   int `json:"failed"`
	NotBegun int `json:"not_begun"`
}

// each does something with each image, and prints what came of it as soon as it is known. In several images' texts each has its
// name above it.
func each[T any](ctx context.Context, env *Env, s *sources, args []string, do func(context.Context, *disk.Appliance) (T, error), text func(w io.Writer, v T) error) error {
	m, err := s.many(env)
	if err != nil {
		return err
	}
	paths, err := expand(args)
	if err != nil {
		return err
	}
	several := len(paths) > 1
	t := tally{Images: len(paths)}
	var last error // of an image, or of writing what was found
	for r := range disk.Each(ctx, paths, m, do) {
		switch {
		case errors.Is(r.Err, disk.ErrNotBegun):
			t.NotBegun++
			continue
		case r.Err != nil:
			t.Failed++
			last = r.Err
		default:
			t.Done++
		}
		if err := printOne(env, r, several, text); err != nil {
			return fmt.Errorf("write what was found on %s: %w", r.Path, err)
		}
		env.progress(t)
	}
	if several {
		env.summary(t)
	}
	switch {
	case ctx.Err() != nil:
		return errInterrupted
	case t.Failed > 0 && several:
		return errNotAll(t.Failed, t.Images)
	}
	return last
}

// printOne prints what came of one image.
func printOne[T any](env *Env, r disk.Result[T], several bool, text func(io.Writer, T) error) error {
	if env.JSON() {
		l := line{Image: r.Path, TookMS: float64(r.Took.Microseconds()) / 1000}
		if r.Err != nil {
			l.Error = r.Err.Error()
		} else {
			l.Result = r.Value
		}
		return encode(env.Stdout, l)
	}
	if r.Err != nil {
		if several { // a single image's is the command's
			fmt.Fprintln(env.Stderr, "taproom:", r.Err)
		}
		return nil
	}
	if several {
		fmt.Fprintf(env.Stdout, "==> %s <==\n", r.Path)
	}
	return text(env.Stdout, r.Value)
}

// encode writes a line of JSON that people can read too.
func encode(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// progress tells people how far it is.
func (env *Env) progress(t tally) {
	if ended := t.Done + t.Failed; env.ErrTerminal && t.Images > 1 && ended < t.Images {
		fmt.Fprintf(env.Stderr, "%d of %d images\r", ended, t.Images)
	}
}

// summary ends the output of several images.
func (env *Env) summary(t tally) {
	if env.JSON() {
		_ = encode(env.Stdout, map[string]tally{"summary": t}) // who cannot read it has no more lines, either
		return
	}
	fmt.Fprintf(env.Stderr, "%d images: %d done, %d failed", t.Images, t.Done, t.Failed)
	if t.NotBegun > 0 {
		fmt.Fprintf(env.Stderr, ", %d not begun", t.NotBegun)
	}
	fmt.Fprintln(env.Stderr)
}
