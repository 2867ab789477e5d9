package disk

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"sync"
	"time"

	"taproom/internal/appliance/admission"
	"taproom/internal/appliance/launch"
	"taproom/internal/appliance/pool"
)

// Many says how many images are worked on, each in an appliance of its own.
type Many struct {
	// Spec is that of each appliance. Its Images are those that each has beside the one that it is for.
	Spec Spec
	// Image says how each is opened; its Path is left alone.
	Image Image
	// Workers is how many are worked on at a time; 0: four for each processor. Fewer are while there is no memory for so many: what the host has is
	// measured before each launch, and a sixteenth of it stays free, at least 256 MiB.
	Workers int
}

// Result is what became of one image.
type Result[T any] struct {
	Path  string
	Value T
	Err   error         // names the image
	Took  time.Duration // from the launch of its appliance to its end, without waiting for memory
}

// ErrNotBegun says that an image was not looked at, since everything was to end before.
var ErrNotBegun = errors.New("it was not begun")

// Each has do work on each image, in an appliance of its own that ends with it, and yields what became of each as soon as it is known. An
// image that is refused, broken, or on which do fails is a Result with an error, and the others go on. When ctx ends no more are begun, what
// is under way ends, and the others are Results whose error is ErrNotBegun, so that there is one of each path. Whoever stops listening
// ends everything too. No appliance is left in any case. do is called at the same time for several images.
func Each[T any](ctx context.Context, paths []string, m Many, do func(ctx context.Context, a *Appliance) (T, error)) iter.Seq[Result[T]] {
	return func(yield func(Result[T]) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		s, err := openSource(ctx, m.Spec)
		if err != nil {
			for _, path := range paths {
				if !yield(Result[T]{Path: path, Err: fmt.Errorf("image %s: %w", path, err)}) {
					return
				}
			}
			return
		}
		defer s.close()
		next, results := make(chan string), make(chan Result[T])
		var workers sync.WaitGroup
		for range min(m.workers(), len(paths)) {
			workers.Go(func() {
				for path := range next {
					results <- one(ctx, s, path, m, do)
				}
			})
		}
		go func() {
			for _, path := range paths {
				next <- path
			}
			close(next)
			workers.Wait()
			close(results)
		}()
		listening := true
		for r := range results {
			if listening && !yield(r) {
				listening = false
				cancel() // the rest comes at once, and nobody hears it
			}
		}
	}
}

func (m Many) workers() int {
	if m.Workers > 0 {
		return m.Workers
	}
	return 4 * runtime.GOMAXPROCS(0)
}

// one works on one image.
func one[T any](ctx context.Context, s *source, path string, m Many, do func(context.Context, *Appliance) (T, error)) (r Result[T]) {
	r.Path = path
	began := time.Now()
	defer func() {
		r.Took = time.Since(began)
		var refused *Error // names the image itself
		if r.Err != nil && !errors.As(r.Err, &refused) {
			r.Err = fmt.Errorf("image %s: %w", path, r.Err)
		}
	}()
	if ctx.Err() != nil {
		r.Err = ErrNotBegun
		return r
	}
	if r.Err = s.enter(ctx); r.Err != nil {
		if ctx.Err() != nil {
			r.Err = ErrNotBegun
		}
		return r
	}
	defer s.leave()
	began = time.Now()
	spec := m.Spec
	image := m.Image
	image.Path = path
	spec.Images = append([]Image{image}, spec.Images...)
	below, err := s.launch(ctx)
	s.started()
	if err != nil {
		r.Err = err
		return r
	}
	a, err := attach(ctx, spec, below)
	if err != nil {
		r.Err = err
		return r
	}
	r.Value, r.Err = do(ctx, a)
	s.measure(below)
	// What was written is to reach the disk also when everything ends.
	r.Err = errors.Join(r.Err, a.Close(context.WithoutCancel(ctx)))
	return r
}

// source is where the appliances come from.
type source struct {
	*admission.Crowd // nil where the pool counts
	launcher         *launch.Launcher
	spec             launch.Spec // of the pool
	release          func()
}

func openSource(ctx context.Context, s Spec) (*source, error) {
	below, release, err := launchSpec(ctx, s)
	if err != nil {
		return nil, err
	}
	if below.Way == launch.WayPool {
		return &source{spec: below, release: release}, nil
	}
	l, err := launch.Open(ctx, below)
	if err != nil {
		release()
		return nil, err
	}
	return &source{launcher: l, Crowd: admission.NewCrowd(l.Room, l.Memory()), release: release}, nil
}

func (s *source) close() {
	if s.launcher != nil {
		_ = s.launcher.Close() // what is shared is memory: nothing that was written hangs on it
	}
	s.release()
}

func (s *source) launch(ctx context.Context) (*launch.Appliance, error) {
	if s.launcher == nil {
		return pool.Launch(ctx, s.spec, pool.Options{Wait: true})
	}
	return s.launcher.Launch(ctx)
}

func (s *source) enter(ctx context.Context) error {
	if s.Crowd == nil {
		return nil
	}
	return s.Enter(ctx)
}

func (s *source) started() {
	if s.Crowd != nil {
		s.Started()
	}
}

func (s *source) leave() {
	if s.Crowd != nil {
		s.Leave()
	}
}

func (s *source) measure(a *launch.Appliance) {
	if s.Crowd == nil {
		return
	}
	if pss, err := a.PSS(); err == nil { // one that has died takes nothing
		s.Measure(pss)
	}
}
