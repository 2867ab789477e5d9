package kbuild

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"taproom/internal/appliance/debian"
)

// MissingError says what a build needs and this machine has not.
type MissingError struct{ Packages []string }

// Error implements error.
func (e *MissingError) Error() string {
	return "a kernel's build needs what this machine has not: install " + strings.Join(e.Packages, " ")
}

// needs are the programs that a build runs, and the packages that have them.
func needs() [][2]string {
	return [][2]string{
		{"gcc", "gcc"},
		{"ld", "binutils"},
		{"strip", "binutils"},
		{"make", "make"},
		{"flex", "flex"},
		{"bison", "bison"},
		{"bc", "bc"},
		{"perl", "perl"},
		{"xz", "xz-utils"},
		{"tar", "tar"},
		{"dpkg-deb", "dpkg"},
		{"apt-get", "apt"},
	}
}

// headers are the files that the kernel's own tools are compiled with.
func headers() [][2]string {
	return [][2]string{{"stdio.h", "libc6-dev"}, {"gelf.h", "libelf-dev"}}
}

// checkTools names every package that is missing, not only the first.
func checkTools(ctx context.Context) error {
	var missing []string
	for _, n := range needs() {
		if _, err := exec.LookPath(n[0]); err != nil && !slices.Contains(missing, n[1]) {
			missing = append(missing, n[1])
		}
	}
	if !slices.Contains(missing, "gcc") {
		for _, h := range headers() {
			if !includes(ctx, h[0]) {
				missing = append(missing, h[1])
			}
		}
	}
	if len(missing) > 0 {
		return &MissingError{missing}
	}
	return ctx.Err()
}

// includes reports whether the compiler finds a header.
func includes(ctx context.Context, header string) bool {
	c := exec.CommandContext(ctx, "gcc", "-E", "-x", "c", "-o", os.DevNull, "-")
	c.Stdin = strings.NewReader("#include <" + header + ">\n")
	return c.Run() == nil
}

// compiler is what the bytes of a kernel depend on beside its source: the first lines that compiler and linker say of themselves.
func compiler(ctx context.Context) (string, error) {
	var lines []string
	for _, name := range []string{"gcc", "ld"} {
		out, err := debian.Run(ctx, "/", name, "--version")
		if err != nil {
			return "", fmt.Errorf("ask for the version of %s: %w", name, err)
		}
		first, _, _ := strings.Cut(string(out), "\n")
		lines = append(lines, first)
	}
	return strings.Join(lines, "; "), nil
}
