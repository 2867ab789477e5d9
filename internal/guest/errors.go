package guest

import (
	"fmt"

	"taproom/internal/spec"
)

// invalid says that the document contradicts itself.
func invalid(element, format string, args ...any) error {
	return &spec.InvalidError{Element: element, Reason: fmt.Sprintf(format, args...)}
}

// unsupported says that the document is well-formed and asks for something that is not implemented.
func unsupported(element, format string, args ...any) error {
	return &spec.UnsupportedError{Element: element, Reason: fmt.Sprintf(format, args...)}
}
