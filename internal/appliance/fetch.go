package appliance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
)

// metaPackage depends on the distribution's current kernel.
const metaPackage = "linux-image-amd64"

// apt runs the distribution's package tools.
type apt struct {
	dir     string   // where it may write
	options []string // of every apt program
}

// kernelPackage is a package with a kernel in it. An empty version means whichever there is.
type kernelPackage struct{ name, version string }

// fetchKernel downloads the distribution's kernel package and unpacks it into the cache. The cache's lock must be held.
func fetchKernel(ctx context.Context, c cache, progress func(string)) (Kernel, error) {
	if runtime.GOARCH != "amd64" {
		return Kernel{}, fmt.Errorf("fetch a kernel for %s: %w: only amd64 is supported", runtime.GOARCH, ErrNoKernel)
	}
	work, err := os.MkdirTemp(c.dir, ".new-")
	if err != nil {
		return Kernel{}, fmt.Errorf("fetch the guest's kernel: %w", err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	if err := os.Chmod(work, 0o755); err != nil {
		return Kernel{}, fmt.Errorf("fetch the guest's kernel: %w", err)
	}
	a := apt{dir: work}
	p, err := a.findKernel(ctx, progress)
	if err != nil {
		return Kernel{}, fmt.Errorf("%w: find the package: %w; is apt configured and the network up?", ErrNoKernel, err)
	}
	final := c.path(kernelPrefix + strings.ReplaceAll(p.name+"_"+p.version, "/", "_"))
	if exists(final) {
		return openKernel(final)
	}
	progress("downloading " + p.name)
	deb, err := a.download(ctx, p)
	if err != nil {
		return Kernel{}, fmt.Errorf("%w: download %s: %w", ErrNoKernel, p.name, err)
	}
	progress("unpacking " + p.name)
	tree, fresh := filepath.Join(work, "tree"), filepath.Join(work, "kernel")
	if _, err := run(ctx, work, "dpkg-deb", "--extract", deb, tree); err != nil {
		return Kernel{}, fmt.Errorf("unpack the guest's kernel: %w", err)
	}
	if err := unpackKernel(ctx, tree, fresh); err != nil {
		return Kernel{}, fmt.Errorf("unpack the guest's kernel: %w", err)
	}
	if err := os.Rename(fresh, final); err != nil {
		return Kernel{}, fmt.Errorf("keep the guest's kernel: %w", err)
	}
	return openKernel(final)
}

// findKernel asks the machine's package lists, and fetches lists of its own where those know no kernel.
func (a *apt) findKernel(ctx context.Context, progress func(string)) (kernelPackage, error) {
	if p, err := a.current(ctx); err == nil {
		return p, nil
	}
	progress("fetching package lists")
	state, archives := filepath.Join(a.dir, "lists"), filepath.Join(a.dir, "archives")
	for _, dir := range []string{state, archives} {
		if err := os.MkdirAll(filepath.Join(dir, "partial"), 0o755); err != nil {
			return kernelPackage{}, err
		}
	}
	a.handOver(filepath.Join(state, "partial"), filepath.Join(archives, "partial"))
	a.options = []string{
		"-o", "Dir::State::lists=" + state, "-o", "Dir::Cache=" + a.dir, "-o", "Dir::Cache::archives=" + archives,
	}
	if _, err := run(ctx, a.dir, "apt-get", append(a.options, "--quiet", "update")...); err != nil {
		return kernelPackage{}, err
	}
	return a.current(ctx)
}

// current reads which kernel package the meta package depends on.
func (a *apt) current(ctx context.Context) (kernelPackage, error) {
	out, err := run(ctx, a.dir, "apt-cache", append(a.options, "--no-all-versions", "show", metaPackage)...)
	if err != nil {
		return kernelPackage{}, err
	}
	return parseDepends(out)
}

// parseDepends finds the kernel in a package's description: "Depends: linux-image-6.1.0-56-amd64 (= 6.1.192-2)".
func parseDepends(description []byte) (kernelPackage, error) {
	depends := regexp.MustCompile(`(?m)^Depends:.*?\b(linux-image-[0-9][a-z0-9.+-]*)(?:\s+\(=\s*([A-Za-z0-9.+:~-]+)\))?`)
	m := depends.FindSubmatch(description)
	if m == nil {
		return kernelPackage{}, errors.New(metaPackage + " depends on no kernel package")
	}
	return kernelPackage{string(m[1]), string(m[2])}, nil
}

// download returns the path of the downloaded package.
func (a *apt) download(ctx context.Context, p kernelPackage) (string, error) {
	into := filepath.Join(a.dir, "deb")
	if err := os.Mkdir(into, 0o755); err != nil {
		return "", err
	}
	a.handOver(into)
	name := p.name
	if p.version != "" {
		name += "=" + p.version
	}
	if _, err := run(ctx, into, "apt-get", append(a.options, "--quiet", "download", name)...); err != nil {
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

// handOver gives folders to the user that apt downloads as when it runs as root. Without it apt downloads as root and
// warns, so a failure changes nothing that matters.
func (a *apt) handOver(dirs ...string) {
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

// run runs a program with a fixed locale and returns what it printed. The error holds the end of what it complained of.
func run(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
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
