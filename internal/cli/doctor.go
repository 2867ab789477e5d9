package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/user"
	"path/filepath"

	"github.com/spf13/cobra"

	"taproom/internal/doctor"
	"taproom/internal/engine"
	"taproom/internal/host"
	"taproom/internal/qemu"
)

const doctorHelp = `Tell what this host can do, what is in the way, and how to fix it, each with its evidence.

It looks at KVM, Landlock, User-Mode Linux, vhost-net, the firewalls, missing kernel features, who holds libvirt's sockets, forwarding and
br_netfilter, and other tables that would drop guests' traffic. It changes nothing: what has to be tried is tried in a
network namespace of its own. It needs no daemon; one that runs is asked what is wrong with guests and networks now, such as
who changes again and again what is put back, and which networks are closed meanwhile.

Without root it looks at what the daemon of qemu:///session needs: KVM, Landlock, the runtime directory, whether guests
outlive the login, networks, and who holds the user's sockets.

With --api it tells something else, which it asks the daemon: what libvirt's clients called since the daemon began to
serve, and were told that it does not exist here (VIR_ERR_NO_SUPPORT), by function and by the client's program.

  taproom doctor
  taproom doctor --api

Exit codes: 0 nothing stands in the way, 1 something does, or the daemon cannot be asked, 2 the command line is wrong.`

func newDoctor(env *Env) *cobra.Command {
	c := &cobra.Command{Use: "doctor", Short: "Tell what this host can do and what is in the way", Long: doctorHelp, Args: arguments(0, 0, "no arguments"), ValidArgsFunction: nothing}
	var api bool
	c.Flags().BoolVar(&api, "api", false, "list what clients called and the daemon does not serve")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if api {
			return env.doctorAPI(c.Context())
		}
		k := host.New(host.Options{})
		defer k.Close()
		own, err := env.doctorSession(k)
		if err != nil {
			return err
		}
		findings := doctor.Run(c.Context(), doctor.Env{
			Kernel: k, KVM: func(ctx context.Context) qemu.KVM { return qemu.ProbeKVM(ctx, k) }, Root: env.root, Table: engine.NewIdentity(env.root).Table,
			Group: engine.NewIdentity(env.root).LinkGroup, Session: own,
		})
		findings = append(findings, umlFinding(c.Context(), k))
		findings = append(findings, env.daemonFindings(c.Context())...)
		if err := env.print(findings, func(w io.Writer) error { return doctor.WriteText(w, findings) }); err != nil {
			return err
		}
		if doctor.Worst(findings) == doctor.Problem {
			return &shownError{errors.New("something stands in the way")}
		}
		return nil
	}
	return c
}

// doctorSession is the user whose session is looked at; nil for root.
func (env *Env) doctorSession(k *host.Kernel) (*doctor.Session, error) {
	own := engine.OwnSession()
	if own == nil {
		return nil, nil
	}
	paths, ignored, err := engine.OwnPaths(k, env.root)
	if err != nil {
		return nil, err
	}
	s := &doctor.Session{UID: own.UID, Run: paths.LibvirtRun, Ignored: ignored, NoRun: !filepath.IsAbs(os.Getenv("XDG_RUNTIME_DIR"))}
	if u, err := user.Current(); err == nil {
		s.Name = u.Username
	}
	return s, nil
}
