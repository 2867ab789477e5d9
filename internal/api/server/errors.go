package server

import (
	"context"
	"errors"
	"strings"

	"taproom/internal/api/remote"
	"taproom/internal/api/virterr"
	"taproom/internal/spec"
)

// maxErrorText keeps an error that quotes its input within a sane reply.
const maxErrorText = 64 << 10

// wireError is the one place that turns an error into libvirt's numbers. What nobody gave a code is
// VIR_ERR_INTERNAL_ERROR: a gap, to be closed where the error is made.
func wireError(err error) *remote.Error {
	e := coded(err)
	return &remote.Error{
		Code:    int32(e.Code),
		Domain:  int32(e.Domain),
		Level:   int32(e.Level),
		Message: remote.Opt(clip(e.Message)),
		Str1:    remote.Opt("%s"),
		Str2:    remote.Opt(clip(e.Detail)),
		Int1:    -1,
		Int2:    -1,
	}
}

func coded(err error) *virterr.Error {
	var (
		own         *virterr.Error
		syntax      *spec.SyntaxError
		invalid     *spec.InvalidError
		unsupported *spec.UnsupportedError
	)
	switch {
	case errors.As(err, &own):
		return outer(own, err)
	case errors.As(err, &syntax):
		return virterr.New(virterr.XMLDetail, "%w", err)
	case errors.As(err, &unsupported):
		return virterr.New(virterr.ConfigUnsupported, "%w", err)
	case errors.As(err, &invalid):
		return virterr.New(virterr.XMLError, "%w", err)
	case errors.Is(err, context.Canceled):
		return virterr.New(virterr.OperationAborted, "the daemon is stopping: %w", err)
	case errors.Is(err, context.DeadlineExceeded):
		return virterr.New(virterr.OperationTimeout, "%w", err)
	}
	return virterr.New(virterr.InternalError, "%w", err)
}

// outer keeps the context that was wrapped around a coded error.
func outer(e *virterr.Error, err error) *virterr.Error {
	if err.Error() == e.Message {
		return e
	}
	// The words of the code belong in front, not in the middle.
	text := strings.Replace(err.Error(), e.Message, e.Detail, 1)
	return virterr.New(e.Code, "%s", text).In(e.Domain)
}

func clip(s string) string {
	if len(s) > maxErrorText {
		return s[:maxErrorText] + "…"
	}
	return s
}
