// Package debian fetches and unpacks packages of the distribution, and installs none. Where the machine has no package lists,
// apt works on lists of its own in a folder that goes away. No root is needed.
package debian

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
)

// Package is one of the distribution's. An empty version means whichever there is.
type Package struct{ Name, Version string }

// String is the package as apt takes it.
func (p Package) String() string {
	if p.Version == "" {
		return p.Name
	}
	return p.Name + "=" + p.Version
}

// Apt runs the distribution's package tools.
type Apt struct {
	dir     string   // where it may write
	options []string // of every apt program
}

// New has apt write into a folder that is there and that its caller removes.
func New(dir string) *Apt { return &Apt{dir: dir} }

// Find asks the machine's package lists, and fetches lists of its own where find does not find what it looks for in those.
func (a *Apt) Find(ctx context.Context, find func() error, progress func(string)) error {
	if err := find(); err == nil {
		return nil
	}
	progress("fetching package lists")
	state, archives := filepath.Join(a.dir, "lists"), filepath.Join(a.dir, "archives")
	for _, dir := range []string{state, archives} {
		if err := os.MkdirAll(filepath.Join(dir, "partial"), 0o755); err != nil {
			return err
		}
	}
	a.handOver(filepath.Join(state, "partial"), filepath.Join(archives, "partial"))
	a.options = append(a.options,
		"-o", "Dir::State::lists="+state, "-o", "Dir::Cache="+a.dir, "-o", "Dir::Cache::archives="+archives,
	)
	if _, err := Run(ctx, a.dir, "apt-get", append(a.options, "--quiet", "update")...); err != nil {
		return err
	}
	return find()
}

// Show returns the description of the version of a package that apt would install.
func (a *Apt) Show(ctx context.Context, name string) ([]byte, error) {
	return Run(ctx, a.dir, "apt-cache", append(a.options, "--no-all-versions", "show", name)...)
}

// Field returns a field of a package's description, its first line.
func Field(description []byte, name string) string {
	for line := range strings.Lines(string(description)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// Download returns the path of the downloaded package, in a folder of its own.
func (a *Apt) Download(ctx context.Context, p Package) (string, error) {
	into, err := os.MkdirTemp(a.dir, "deb-")
	if err == nil {
		err = os.Chmod(into, 0o755)
	}
	if err != nil {
		return "", err
	}
	a.handOver(into)
	if _, err := Run(ctx, into, "apt-get", append(a.options, "--quiet", "download", p.String())...); err != nil {
		return "", err
	}
	debs, err := filepath.Glob(filepath.Join(into, "*.deb"))
	if err != nil {
		return "", err
	}
	if len(debs) != 1 {
		return "", fmt.Errorf("apt left %d packages in %s, want one", len(debs), into)
	}
	return debs[0], nil
}

// Unpack extracts a package's files below a folder.
func Unpack(ctx context.Context, deb, tree string) error {
	_, err := Run(ctx, filepath.Dir(deb), "dpkg-deb", "--extract", deb, tree)
	return err
}

// handOver gives folders to the user that apt downloads as when it runs as root. Without it apt downloads as root and
// warns, so a failure changes nothing that matters.
func (a *Apt) handOver(dirs ...string) {
	if os.Geteuid() != 0 {
		return
	}
	u, err := user.Lookup("_apt")
	if err != nil {
		return
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return
	}
	for _, dir := range dirs {
		_ = os.Chown(dir, uid, -1)
	}
}

// Run runs a program with a fixed locale and returns what it printed. The error holds the end of what it complained of.
func Run(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")
	if err := cmd.Run(); err != nil {
		complaint := bytes.TrimSpace(stderr.Bytes())
		const most = 2000
		return nil, fmt.Errorf("%s: %w: %s", name, err, complaint[max(0, len(complaint)-most):])
	}
	return stdout.Bytes(), nil
}
