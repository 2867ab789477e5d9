package engine

import (
	"context"
	"fmt"

	"taproom/internal/api/virterr"
	"taproom/internal/network/firewall/firewalld"
	"taproom/internal/network/heal"
	"taproom/internal/spec"
)

// zoneIsKept refuses a network that asks for a zone of firewalld while there is nobody to keep it in one.
func (e *Engine) zoneIsKept(ctx context.Context, doc *spec.Network) error {
	if doc.Bridge == nil || doc.Bridge.Zone == "" {
		return nil
	}
	running, err := e.zones.Running(ctx)
	if err != nil {
		return err
	}
	if !running {
		return virterr.New(virterr.ConfigUnsupported, "zone %s requested for network %s but firewalld is not active; start it (systemctl start firewalld), or leave zone out of <bridge>", doc.Bridge.Zone, doc.Name)
	}
	return nil
}

// quarrel says what is to be looked at when somebody changed the rules. firewalld that began anew is no quarrel, however often
// it does that: it forgets what it was told.
func (e *Engine) quarrel(who string) []heal.Thing {
	rules := []heal.Thing{{Kind: heal.Rules}}
	if who == firewalld.Who {
		return append(rules, e.healer.asked("")...)
	}
	return rules
}

// dropZones ends the connection to the system bus.
func (e *Engine) dropZones() {
	if err := e.zones.Close(); err != nil {
		e.log.Warn(fmt.Sprintf("end the connection to the system bus: %v", err))
	}
}

// keepZones has firewalld's permanent configuration follow the networks there are, until the engine ends. It comes after what
// starts by itself.
func (e *Engine) keepZones(context.Context) error {
	e.work.Go(func() { e.zones.KeepPermanent(e.ctx) })
	return nil
}

// followZones has firewalld told again what it forgot, where the rules themselves are left as somebody makes them: that it
// reloads or begins anew is nobody's wish to cut guests off.
func (e *Engine) followZones() {
	const trouble = "firewalld began anew and cannot be told again which zones the bridges of networks are in, so it may reject what guests send"
	try := func(ctx context.Context) error {
		err := e.zones.Rebind(ctx)
		if err == nil || ctx.Err() != nil {
			e.troubles.solved(spec.UUID{}, trouble)
			return err
		}
		if what := trouble + ": " + err.Error(); len(e.troubles.instead(spec.UUID{}, trouble, what)) > 0 {
			e.log.Error(what)
		}
		return err
	}
	e.work.Go(func() {
		e.zones.Follow(e.ctx, func(who string) {
			if who != firewalld.Who {
				return
			}
			if try(e.ctx) != nil {
				tryAgain(e.ctx, try)
			}
			e.glanceSoon(e.networks.all()...)
		})
	})
}

// zonesUnseen is why firewalld does not say where bridges are, if it does not. otherSettings has the rules looked at again
// until it does.
func (e *Engine) zonesUnseen() error {
	if e.zones == nil {
		return nil
	}
	return e.zones.Trouble()
}

// zoneProblems is what keeps bridges out of sight in firewalld, if anything does.
func (e *Engine) zoneProblems() []string {
	if e.zones == nil {
		return nil
	}
	if err := e.zonesUnseen(); err != nil {
		return []string{fmt.Sprintf("firewalld does not say which zones the bridges of networks are in; until it does they are left as they are, and it may reject what guests send: %v", err)}
	}
	if err := e.zones.Fleeting(); err != nil {
		return []string{fmt.Sprintf("the permanent configuration of firewalld does not have the bridges of networks: whenever it reloads, it rejects what guests send until it has been told again: %v", err)}
	}
	return nil
}
