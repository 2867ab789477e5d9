package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"taproom/internal/api/client"
	"taproom/internal/engine"
	"taproom/internal/sandbox"
)

const (
	apiDomains = 500
	apiLists   = 200
	apiInfos   = 2000
)

const apiGuest = `<domain type='qemu'><name>guest-%03d</name><memory unit='MiB'>16</memory><vcpu>1</vcpu>
  <os><type arch='x86_64' machine='pc'>hvm</type></os><devices><memballoon model='none'/></devices></domain>`

// runAPI measures the daemon with 500 definitions: lists and small calls on the raw wire, its memory, and how soon it
// answers after a restart; beside libvirtd, asked by the same client.
func runAPI(ctx context.Context, o Options) (r *Report, err error) {
	d, err := sandbox.Start(ctx, filepath.Join(o.Programs, "taproomd"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Stop(), d.Remove()) }()
	socket := engine.NewPaths(d.Root).ControlSocket()
	c, err := client.Dial(ctx, socket, client.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	if err := defineMany(ctx, c); err != nil {
		return nil, err
	}
	contenders := []Contender{
		{Name: "list.500", Unit: "us", Run: lists(c)},
		{Name: "info", Unit: "1/s", Run: infos(c)},
	}
	peer, skip := startLibvirt(ctx, o.Peers, "peer.libvirt")
	if peer != nil {
		defer func() { err = errors.Join(err, peer.close()) }()
		if err := defineMany(ctx, peer.client); err != nil {
			return nil, err
		}
		contenders = append(contenders,
			Contender{Name: "peer.libvirt.list.500", Unit: "us", Run: lists(peer.client)},
			Contender{Name: "peer.libvirt.info", Unit: "1/s", Run: infos(peer.client)})
	}
	contenders = append(contenders, pythonContenders(d, peer)...)
	figures, skipped, err := Turns(ctx, o.Rounds, contenders, o.Progress)
	if err != nil {
		return nil, err
	}
	rss, err := residentMB(d.PID())
	if err != nil {
		return nil, err
	}
	figures = append(figures, NewFigure("rss.500", "MB", []float64{rss}))
	restart, err := restarts(ctx, d, filepath.Join(o.Programs, "taproomd"), socket, min(o.Rounds, 10))
	if err != nil {
		return nil, err
	}
	figures = append(figures, restart)
	if skip != nil {
		skipped = append(skipped, *skip)
	}
	return &Report{Bench: "api", Host: thisHost(""), Figures: figures, Skipped: skipped}, nil
}

func defineMany(ctx context.Context, c *client.Client) error {
	for i := range apiDomains {
		if _, err := c.DefineDomain(ctx, fmt.Sprintf(apiGuest, i)); err != nil {
			return err
		}
	}
	return nil
}

// lists is the mean time of a listAllDomains.
func lists(c *client.Client) func(context.Context) (float64, error) {
	return func(ctx context.Context) (float64, error) {
		began := time.Now()
		for range apiLists {
			all, err := c.Domains(ctx, 0)
			if err != nil {
				return 0, err
			}
			if len(all) != apiDomains {
				return 0, fmt.Errorf("listed %d domains of %d", len(all), apiDomains)
			}
		}
		return milliseconds(time.Since(began)) * 1000 / apiLists, nil
	}
}

// infos is how many domain infos a second one connection gets.
func infos(c *client.Client) func(context.Context) (float64, error) {
	return func(ctx context.Context) (float64, error) {
		dom, err := c.Domain(ctx, "guest-000")
		if err != nil {
			return 0, err
		}
		began := time.Now()
		for range apiInfos {
			if _, err := c.DomainInfo(ctx, dom); err != nil {
				return 0, err
			}
		}
		return apiInfos / time.Since(began).Seconds(), nil
	}
}

// pythonScript prints the mean time of a listAllDomains in microseconds, as python3-libvirt's users see it.
const pythonScript = `import libvirt, sys, time
c = libvirt.open('qemu+unix:///system?socket=' + sys.argv[1])
n = 50
t = time.perf_counter()
for _ in range(n):
    assert len(c.listAllDomains()) == 500
print((time.perf_counter() - t) / n * 1e6)`

// pythonContenders ask through python3-libvirt, whose own part is most of the time.
func pythonContenders(d *sandbox.Daemon, peer *peerLibvirt) []Contender {
	python := func(socket string) func(context.Context) (float64, error) {
		return func(ctx context.Context) (float64, error) {
			out, err := exec.CommandContext(ctx, "/usr/bin/python3", "-c", pythonScript, socket).Output()
			if err != nil {
				return 0, fmt.Errorf("python3-libvirt: %w", err)
			}
			return strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
		}
	}
	all := []Contender{{Name: "list.500.python", Unit: "us", Run: python(d.Socket())}}
	if peer != nil {
		all = append(all, Contender{Name: "peer.libvirt.list.500.python", Unit: "us", Run: python(peer.socket)})
	}
	return all
}

// residentMB is the resident memory of a process.
func residentMB(pid int) (float64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
			return kib / 1024, err
		}
	}
	return 0, fmt.Errorf("process %d has no VmRSS", pid)
}

// restarts measures from exec of a daemon with 500 definitions to its first answer.
func restarts(ctx context.Context, d *sandbox.Daemon, program, socket string, n int) (Figure, error) {
	var took []float64
	for range n {
		if err := d.Stop(); err != nil {
			return Figure{}, err
		}
		began := time.Now()
		if err := d.Run(ctx, program); err != nil {
			return Figure{}, err
		}
		c, err := client.Dial(ctx, socket, client.Options{})
		if err != nil {
			return Figure{}, err
		}
		all, err := c.Domains(ctx, 0)
		if err = errors.Join(err, c.Close()); err != nil || len(all) != apiDomains {
			return Figure{}, errors.Join(err, fmt.Errorf("after a restart %d of %d domains are listed", len(all), apiDomains))
		}
		took = append(took, milliseconds(time.Since(began)))
	}
	return NewFigure("restart.500", "ms", took), nil
}
