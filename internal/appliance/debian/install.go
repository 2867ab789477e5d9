package debian

import (
	"context"
	"os"
	"path/filepath"
)

// Empty has apt work as on a machine where nothing is installed, so that what packages need comes with them, all of it.
func (a *Apt) Empty() error {
	status, archives := filepath.Join(a.dir, "status"), filepath.Join(a.dir, "packages")
	if err := os.WriteFile(status, nil, 0o644); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(archives, "partial"), 0o755); err != nil {
		return err
	}
	a.handOver(filepath.Join(archives, "partial"))
	a.options = append(a.options,
		"-o", "Dir::State::status="+status, "-o", "Dir::State::extended_states="+filepath.Join(a.dir, "extended"),
		"-o", "Dir::Log="+a.dir, "-o", "Debug::NoLocking=1", "-o", "APT::Install-Recommends=0",
		"-o", "Dir::Cache="+a.dir,
	)
	return nil
}

// Resolve returns what apt would download to install packages, as --print-uris has it.
func (a *Apt) Resolve(ctx context.Context, names []string) ([]byte, error) {
	return Run(ctx, a.dir, "apt-get", a.install("--print-uris", names)...)
}

// Fetch downloads packages and what they need, and returns the folder that they are in.
func (a *Apt) Fetch(ctx context.Context, names []string) (string, error) {
	dir := filepath.Join(a.dir, "packages")
	_, err := Run(ctx, a.dir, "apt-get", a.install("--download-only", names)...)
	return dir, err
}

// install is apt-get's command line. The folder of packages comes last: lists of its own bring one along that has another use.
func (a *Apt) install(what string, names []string) []string {
	args := append([]string(nil), a.options...)
	args = append(args, "-o", "Dir::Cache::archives="+filepath.Join(a.dir, "packages"), "-qq", "-y", what, "install")
	return append(args, names...)
}
