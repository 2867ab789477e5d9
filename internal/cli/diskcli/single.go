package diskcli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"taproom/disk"
)

// single is what a command takes that works on one image, and may change it.
type single struct {
	sources
	atomic bool
}

func (s *single) addFlags(c *cobra.Command) { s.addImageFlags(c) }

// addAtomic is for commands that change the image.
func (s *single) addAtomic(c *cobra.Command) {
	c.Flags().BoolVar(&s.atomic, "atomic", false, "change a private copy, which takes the image's place when all has gone well; else the image stays as it was")
}

// access is what the appliance may do to the image.
func (s *single) access() disk.Access {
	switch {
	case s.atomic:
		return disk.Atomic
	case s.write:
		return disk.Write
	}
	return disk.Discard
}

// on does something with an image in an appliance of its own. What is changed is on the host's disk when it returns without an error.
func (s *single) on(ctx context.Context, env *Env, image string, do func(context.Context, *disk.Appliance) error) error {
	s.write = s.write || s.atomic
	if s.write && s.format == "" {
		return env.Usage(needFormat(image))
	}
	m, err := s.many(env)
	if err != nil {
		return err
	}
	spec := m.Spec
	spec.Images = []disk.Image{{Path: image, Format: m.Image.Format, Within: m.Image.Within, Access: s.access()}}
	a, err := disk.Launch(ctx, spec)
	if err != nil {
		return named(ctx, image, err)
	}
	err = do(ctx, a)
	if err == nil {
		err = ctx.Err() // an interrupt at the very end is none the less one: a copy is not to take the image's place after it
	}
	end := a.Close
	if s.atomic && err == nil {
		end = a.Commit
	}
	// What was written is to reach the disk also when everything ends.
	return named(ctx, image, errors.Join(err, end(context.WithoutCancel(ctx))))
}

// needFormat says why an image that is changed needs its format declared.
func needFormat(image string) error {
	return fmt.Errorf("image %s is to be changed, and whoever wrote to it decides what it looks like: say --format raw or --format qcow2", image)
}

// onMounted is on, with the system or the device mounted that the flags say.
func (s *single) onMounted(ctx context.Context, env *Env, image string, do func(context.Context, *disk.Appliance) error) error {
	return s.on(ctx, env, image, func(ctx context.Context, a *disk.Appliance) error {
		if err := s.mount(ctx, a); err != nil {
			return err
		}
		return do(ctx, a)
	})
}

// imageError is an error with the name of its image.
type imageError struct {
	image string
	err   error
}

// Error implements error.
func (e *imageError) Error() string { return fmt.Sprintf("image %s: %v", e.image, e.err) }

// Unwrap returns the cause.
func (e *imageError) Unwrap() error { return e.err }

// named is an error that names its image, once where a command has two.
func named(ctx context.Context, image string, err error) error {
	var refused *disk.Error // names the image itself
	var has *imageError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &has):
		return err
	case ctx.Err() != nil:
		return &imageError{image, errInterrupted}
	case errors.As(err, &refused):
		return err
	}
	return &imageError{image, err}
}

// between makes a check of the number of arguments.
func (env *Env) between(least, most int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return env.Usage(fmt.Errorf("%s takes %s, not %d arguments; see %s --help", c.Name(), what, len(args), c.CommandPath()))
		}
		return nil
	}
}
