package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"taproom/internal/engine"
	"taproom/internal/host"
	"taproom/internal/sandbox"
)

// lacks says why a back end cannot be measured here.
func (b *networkBench) lacks(backend string) error {
	var needs []string
	switch backend {
	case inIPTablesNFT, inIPTablesLegacy:
		for _, family := range []string{"iptables", "ip6tables"} {
			needs = append(needs, variant(family, "", backend), variant(family, "-save", backend), variant(family, "-restore", backend))
		}
	case besideNFT, besideIPTables:
		needs = []string{"firewalld", "dbus-daemon"}
	}
	for _, p := range needs {
		if _, err := exec.LookPath(p); err != nil {
			return err
		}
	}
	if backend == inIPTablesLegacy {
		if out, err := exec.Command("iptables-legacy", "-t", "nat", "-S").CombinedOutput(); err != nil {
			return fmt.Errorf("the kernel has no iptables of its own: %w: %s", err, out)
		}
	}
	return nil
}

// variant is the program of a variant of iptables: iptables-legacy-save.
func variant(family, verb, backend string) string {
	if backend == inIPTablesLegacy {
		return family + "-legacy" + verb
	}
	return family + "-nft" + verb
}

// own prepares our daemon of a build with its rules in one place.
func (b *networkBench) own(backend string, build build) (*netSide, error) {
	s := newNetSide(build.prefix+backend+".", b)
	s.program = filepath.Join(build.programs, "taproomd")
	if _, err := os.Stat(s.program); err != nil {
		return nil, fmt.Errorf("find the program to measure: %w", err)
	}
	dir := filepath.Join(b.dir, build.prefix+backend)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	bus, where := filepath.Join(dir, "bus"), "nftables"
	switch backend {
	case besideNFT, besideIPTables:
		s.firewalld = &firewalld{dir: dir, socket: bus, backend: map[string]string{besideNFT: "nftables", besideIPTables: "iptables"}[backend]}
	case inIPTablesNFT, inIPTablesLegacy:
		where = "iptables"
		program, err := choosingIPTables(s.bench.k, dir, backend, s.program)
		if err != nil {
			return nil, err
		}
		s.program = program
	}
	s.settings = fmt.Sprintf("firewall_backend = '%s'\nsystem_bus = '%s'\n", where, bus)
	return s, nil
}

// choosingIPTables is a program that runs another one for which iptables is a variant of it.
func choosingIPTables(k *host.Kernel, dir, backend, program string) (string, error) {
	for _, family := range []string{"iptables", "ip6tables"} {
		for _, verb := range []string{"", "-save", "-restore"} {
			path, err := exec.LookPath(variant(family, verb, backend))
			if err == nil {
				err = os.Symlink(path, filepath.Join(dir, family+verb))
			}
			if err != nil {
				return "", err
			}
		}
	}
	return script(k, dir, fmt.Sprintf("PATH='%s':$PATH exec '%s' \"$@\"", dir, program))
}

// script writes a program, while this process starts no other: a child would have the file open for writing, and executing it would
// fail with ETXTBSY.
func script(k *host.Kernel, dir, text string) (path string, err error) {
	path = filepath.Join(dir, "run")
	k.WithoutForks(func() { err = os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755) })
	return path, err
}

// up starts the daemon, and firewalld where it is beside it.
func (s *netSide) up(ctx context.Context) error {
	if s.firewalld != nil {
		if err := s.firewalld.start(ctx, s.bench.k); err != nil {
			return err
		}
	}
	err := s.begin(ctx)
	s.isUp = err == nil
	if err != nil && s.firewalld != nil {
		s.firewalld.stop()
	}
	return err
}

// begin starts the daemon, below the folder that it had before.
func (s *netSide) begin(ctx context.Context) error {
	if s.daemon != nil {
		return s.daemon.start(ctx)
	}
	own, err := startOwnWith(ctx, s.bench.dir, s.program, s.settings)
	if err == nil {
		s.daemon, s.end, s.group = own, own.close, engine.NewIdentity(own.daemon.Root).LinkGroup
	}
	return err
}

// startOwnWith starts a daemon with settings, below a folder.
func startOwnWith(ctx context.Context, dir, program, settings string) (*ownDaemon, error) {
	root, err := os.MkdirTemp(dir, "root-")
	if err != nil {
		return nil, err
	}
	config := engine.NewPaths(root).Config
	err = errors.Join(os.MkdirAll(config, 0o755), os.WriteFile(filepath.Join(config, "taproomd.toml"), []byte(settings), 0o644))
	o := &ownDaemon{daemon: &sandbox.Daemon{Root: root}, program: program}
	if err == nil {
		err = o.daemon.Run(ctx, program)
	}
	if err != nil {
		return nil, errors.Join(err, o.daemon.Remove())
	}
	if err := o.connect(ctx); err != nil {
		return nil, errors.Join(err, o.close(ctx))
	}
	return o, nil
}

// down ends what up started, until the next turn.
func (s *netSide) down(ctx context.Context) error {
	s.isUp = false
	err := s.daemon.stop()
	if s.firewalld != nil {
		s.firewalld.stop()
	}
	return errors.Join(err, flush(ctx))
}

// roots are the mounts from which the daemon's programs come.
func (s *netSide) roots() []string {
	if s.peer != nil {
		root := fmt.Sprintf("/proc/%d/root", s.peer.place.Process.Pid)
		return []string{root, filepath.Join(root, "usr/lib"), filepath.Join(root, s.peer.dir)}
	}
	return []string{"/", filepath.Dir(s.program), s.bench.o.Programs}
}
