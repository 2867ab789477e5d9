// Package version holds what this build calls itself.
package version

// Version is what `git describe` said when the program was built; the linker sets it (see the Makefile).
var Version = unknown

const unknown = "unknown"

// Known returns what this build calls itself, or nothing for one that was not told: two of those may be of different
// builds or of the same.
func Known() string {
	if Version == unknown {
		return ""
	}
	return Version
}
