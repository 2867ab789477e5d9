package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"taproom/internal/host/nft"
	"taproom/internal/network/firewall"
	"taproom/internal/network/firewall/choice"
)

// CheckFirewallBackend says what is wrong with the name of a back end of the firewall.
func CheckFirewallBackend(name string) error { return choice.Check(name) }

// openFirewall chooses what keeps the rules of networks. The connection is nil where the kernel has no nf_tables.
func (e *Engine) openFirewall(ctx context.Context) (*nft.Conn, *choice.Chosen, error) {
	conn, err := nft.Open(e.k)
	if err != nil && !errors.Is(err, unix.EPROTONOSUPPORT) {
		return nil, nil, fmt.Errorf("open the firewall: %w", err)
	}
	env := choice.Env{Kernel: e.k, NFT: conn, Table: e.cfg.Identity.Table}
	if conn != nil {
		if env.Tables, err = firewall.Open(ctx, conn, e.cfg.Identity.Table, !e.cfg.ShareTables); err != nil {
			return nil, nil, errors.Join(fmt.Errorf("open the firewall: %w", err), conn.Close())
		}
	}
	chosen, err := choice.Open(ctx, env, e.cfg.FirewallBackend)
	if err != nil {
		if conn != nil {
			err = errors.Join(err, conn.Close())
		}
		return nil, nil, fmt.Errorf("open the firewall: %w", err)
	}
	e.log.Info("firewall", "backend", chosen.Name, "why", chosen.Why)
	return conn, chosen, nil
}

// clearOtherFirewalls removes the rules that another back end made when the daemon used that. It comes after all rules
// that should be are there. What cannot be removed disturbs no network of ours.
func (e *Engine) clearOtherFirewalls(ctx context.Context) {
	had, err := e.chosen.ClearOthers(ctx)
	if len(had) > 0 {
		e.log.Info("the firewall's back end was another one: its rules are gone", "backend", e.chosen.Name, "was", strings.Join(had, ", "))
	}
	if err != nil {
		e.problem.add(e.log, err.Error())
	}
}
