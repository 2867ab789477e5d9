package crashtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taproom/internal/api/client"
	"taproom/internal/api/remote"
	"taproom/internal/guest/saveimage"
)

// The requests.

func managedSave(o *object) step {
	return step{"managed save of", o, func(ctx context.Context, c *client.Client) error {
		return void(ctx, c, remote.ProcDomainManagedSave, &remote.DomainFlags{Domain: o.domain()})
	}, belief{defined: o.defined}}
}

func save(o *object, path string) step {
	return step{"save", o, func(ctx context.Context, c *client.Client) error {
		return void(ctx, c, remote.ProcDomainSave, &remote.DomainString{Domain: o.domain(), S: path})
	}, belief{defined: o.defined}}
}

func restore(o *object, path string) step {
	then := o.belief
	then.active = yes
	return step{"restore", o, func(ctx context.Context, c *client.Client) error {
		return void(ctx, c, remote.ProcDomainRestore, &remote.String{S: path})
	}, then}
}

func dump(o *object, path string) step {
	return step{"dump", o, func(ctx context.Context, c *client.Client) error {
		return void(ctx, c, remote.ProcDomainCoreDump, &remote.DomainStringFlags{Domain: o.domain(), S: path})
	}, o.belief}
}

// states says what is wrong with the files that guests' states are in: nothing is half-written, what has its name is
// whole, and a guest that runs has no image that it would start from again.
func (w *world) states(image string) error {
	var wrong []error
	_ = filepath.WalkDir(w.Root, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.Contains(filepath.Base(path), "taproom-saving") {
			wrong = append(wrong, errors.New("half-written image "+path))
		}
		return nil
	})
	o := w.objects[0]
	for _, path := range []string{image, w.Paths().Save(o.uuid.String())} {
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			_, err = saveimage.Read(f)
			_ = f.Close()
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s %w", path, err))
		}
		if path != image && o.active == yes {
			wrong = append(wrong, errors.New("a guest that runs has an image"))
		}
	}
	return errors.Join(wrong...)
}

// A daemon that dies while it saves or restores a guest has the next one finish it or take it back: the guest runs or its
// state is in a whole file, and never both.
func TestADaemonKilledWhileItSavesOrRestoresLosesNothing(t *testing.T) {
	t.Parallel()
	if !long() {
		t.Skip("takes minutes: set TAPROOM_LONG=1 (make crash)")
	}
	everyCall(t, trial{
		world: func(t *testing.T) *world {
			w := newWorld(t)
			w.objects = []*object{newDomain(1, nil, w.disk(1, nil))}
			return w
		},
		before: func(w *world) error {
			if err := errors.Join(w.wipe(), os.RemoveAll(filepath.Join(w.Root, "image"))); err != nil {
				return err
			}
			return w.serve(func(c *client.Client) error {
				return errors.Join(w.do(c, define(w.objects[0])), w.do(c, start(w.objects[0])))
			})
		},
		drive: func(w *world, c *client.Client) error {
			o := w.objects[0]
			image := filepath.Join(w.Root, "image")
			for _, next := range []func() step{
				func() step { return managedSave(o) },
				func() step { return start(o) },
				func() step { return save(o, image) },
				func() step { return restore(o, image) },
				func() step { return dump(o, filepath.Join(w.Root, "core")) },
			} {
				if err := w.do(c, next()); err != nil {
					return err
				}
			}
			return nil
		},
		after: func(w *world) error {
			return w.serve(func(c *client.Client) error {
				if err := w.verify(c); err != nil {
					return err
				}
				if err := w.states(filepath.Join(w.Root, "image")); err != nil {
					return err
				}
				return w.away(c)
			})
		},
	})
}
