package engine

import (
	"errors"

	"taproom/internal/host"
)

// takenUnlessMissing turns "there is such a link" into what an allocator of names wants to hear.
func takenUnlessMissing(err error) error {
	switch {
	case err == nil:
		return host.ErrTaken
	case errors.Is(err, host.ErrNoLink):
		return nil
	}
	return err
}
