// Package version holds what this build calls itself.
package version

// Version is what `git describe` said when the program was built; the linker sets it (see the Makefile).
var Version = "unknown"
