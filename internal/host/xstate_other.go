//go:build !amd64

package host

// ExtendedState is 0: this processor has no XSAVE area.
func ExtendedState() int { return 0 }
