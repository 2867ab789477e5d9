package spec

import "fmt"

// InvalidError says that a document contradicts itself or has a value nobody knows. Element is the path below the root,
// such as devices/disk/driver/@cache.
type InvalidError struct {
	Element string
	Reason  string
}

// Error implements error.
func (e *InvalidError) Error() string { return fmt.Sprintf("invalid %s: %s", e.Element, e.Reason) }

// UnsupportedError says that a document asks for something libvirt knows and taproom does not do yet. It is refused
// because leaving it out would make another guest.
type UnsupportedError struct {
	Element string
	Reason  string
}

// Error implements error.
func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("%s is not supported: %s", e.Element, e.Reason)
}

func invalid(element, format string, args ...any) error {
	return &InvalidError{Element: element, Reason: fmt.Sprintf(format, args...)}
}

func unsupported(element, format string, args ...any) error {
	return &UnsupportedError{Element: element, Reason: fmt.Sprintf(format, args...)}
}
