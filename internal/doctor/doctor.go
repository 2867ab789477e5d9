package doctor

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"taproom/internal/host"
	"taproom/internal/qemu"
)

// Env is the host that is looked at. Only Kernel is needed; the rest has defaults for the machine at hand.
type Env struct {
	// Kernel looks into the network namespace that guests' networks live in.
	Kernel *host.Kernel
	// KVM tries KVM; nil: qemu.ProbeKVM.
	KVM func(context.Context) qemu.KVM
	// Landlock returns the kernel's Landlock version; nil: host.LandlockABI.
	Landlock func() (int, error)
	// Root is put before the paths of device nodes and sockets; empty on a real host.
	Root string
	// LookPath finds a program; nil: exec.LookPath.
	LookPath func(string) (string, error)
	// Table is our own nft table, which is not reported as somebody else's; empty: the firewall's default.
	Table string
	// Group is the group of links that are ours; 0: bridges of networks are not looked for.
	Group uint32
	// Session is the user without root that the findings are for; nil is root.
	Session *Session
}

func (e Env) path(p string) string { return filepath.Join("/", e.Root, p) }

func (e Env) has(program string) (string, bool) {
	look := e.LookPath
	if look == nil {
		look = exec.LookPath
	}
	p, err := look(program)
	return p, err == nil
}

// node says whether a file exists and is a character device; an error is a fs.PathError.
func (e Env) node(p string) (bool, error) {
	e.Kernel.Step("doctor stat " + filepath.Base(p))
	i, err := os.Stat(e.path(p))
	if err != nil {
		return false, err
	}
	return i.Mode()&fs.ModeCharDevice != 0, nil
}

type check func(context.Context, Env) []Finding

func checks() []check {
	return []check{
		checkKVM, checkLandlock, checkVhostNet, checkVhostVsock, checkNFT, checkFirewallBackend, checkFilters, checkFeatures, checkIPTablesLegacy, checkFirewalld, checkForeignChains,
		checkForwarding, checkBrNetfilter, checkOpenVSwitch, checkSockets,
	}
}

// Run runs every check, in a fixed order. When ctx ends the rest is left out.
func Run(ctx context.Context, e Env) []Finding {
	var out []Finding
	all := checks()
	if e.Session != nil {
		all = sessionChecks()
	}
	for _, c := range all {
		if ctx.Err() != nil {
			return out
		}
		out = append(out, c(ctx, e)...)
	}
	return out
}
