package engine

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"taproom/internal/api/remote"
	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/qemu/qga"
	"taproom/internal/qemu/qmp"
	"taproom/internal/spec"
)

// taintAgentCommand is what is said of a guest whose agent was given a command of somebody's own.
const taintAgentCommand = "custom guest agent control commands issued"

// AgentCommand implements server.GuestAgents.
func (e *Engine) AgentCommand(ctx context.Context, uuid spec.UUID, command string, timeout int32) (answer string, err error) {
	if timeout < server.AgentBlock {
		return "", virterr.New(virterr.InvalidArg, "guest agent timeout '%d' is less than the minimum '%d'", timeout, server.AgentBlock)
	}
	var request struct {
		Execute string `json:"execute"`
	}
	if err := json.Unmarshal([]byte(command), &request); err != nil || request.Execute == "" {
		return "", virterr.New(virterr.InvalidArg, `the command for the guest agent is no JSON object with an "execute": %v`, err)
	}
	err = e.talk(ctx, uuid, func(ctx context.Context, d *domain, run *running, c *qga.Client) error {
		if err := e.taint(ctx, d, run, taintAgentCommand); err != nil {
			return err
		}
		if timeout == server.AgentNoWait {
			return c.Send(ctx, []byte(command))
		}
		c.Within = agentPatience(timeout)
		ret, err := c.Raw(ctx, request.Execute, []byte(command))
		if err == nil {
			var b []byte
			b, err = json.Marshal(map[string]json.RawMessage{"return": ret}) // compact
			answer = string(b)
		}
		return err
	})
	return answer, err
}

// taint notes that somebody reached past the daemon, once.
func (e *Engine) taint(ctx context.Context, d *domain, run *running, why string) error {
	if slices.Contains(run.rec().Tainted, why) {
		return nil
	}
	j, err := d.slot.BeginWithin(ctx, answerWithin, "note what is done to domain '"+d.label+"'")
	if err != nil {
		return virterr.Wrap(virterr.OperationTimeout, err)
	}
	defer j.End()
	return e.taintHeld(d, run, why)
}

// taintHeld is taint for a caller that holds the domain's slot.
func (e *Engine) taintHeld(d *domain, run *running, why string) error {
	if d.view().run != run || slices.Contains(run.rec().Tainted, why) {
		return nil
	}
	return e.rerecord(d, run, func(rec *record) { rec.Tainted = append(slices.Clone(rec.Tainted), why) })
}

// GuestHostname implements server.GuestAgents.
func (e *Engine) GuestHostname(ctx context.Context, uuid spec.UUID, source uint32) (name string, err error) {
	if source == server.HostnameLease {
		name, err = e.leasedHostname(ctx, uuid)
	} else {
		err = e.talk(ctx, uuid, func(ctx context.Context, _ *domain, _ *running, c *qga.Client) (err error) {
			name, err = c.Hostname(ctx)
			return err
		})
	}
	if err == nil && name == "" {
		err = virterr.New(virterr.NoHostname, "no hostname found for domain %s", uuid)
	}
	return name, err
}

// leasedHostname is the first name under which a guest has an address.
func (e *Engine) leasedHostname(ctx context.Context, uuid spec.UUID) (string, error) {
	d, err := e.domain(uuid)
	if err != nil {
		return "", err
	}
	run, err := d.running()
	if err != nil {
		return "", err
	}
	now := run.hardware()
	for _, p := range now.rec.Ports {
		n, ok := e.networks.named(p.Network)
		if !ok || n.view().live == nil {
			continue
		}
		leases, err := e.leases(ctx, n, n.view(), now.nic(p).MAC.Address)
		if err != nil {
			return "", err
		}
		for _, l := range leases {
			if l.Hostname != "" {
				return l.Hostname, nil
			}
		}
	}
	return "", nil
}

// agentAddresses are those that a guest says it has.
func (e *Engine) agentAddresses(ctx context.Context, uuid spec.UUID) (out []server.InterfaceAddresses, err error) {
	err = e.talk(ctx, uuid, func(ctx context.Context, _ *domain, _ *running, c *qga.Client) error {
		all, err := c.Interfaces(ctx)
		for _, i := range all[:min(len(all), remote.MaxInterfaces)] {
			a := server.InterfaceAddresses{Name: i.Name, MAC: i.MAC}
			for _, ip := range i.Addresses[:min(len(i.Addresses), remote.MaxAddresses)] {
				a.Addresses = append(a.Addresses, server.Address{IPv6: ip.Type == "ipv6", Addr: ip.Addr, Prefix: ip.Prefix})
			}
			out = append(out, a)
		}
		return err
	})
	return out, err
}

// FreezeFilesystems implements server.GuestAgents.
func (e *Engine) FreezeFilesystems(ctx context.Context, uuid spec.UUID, mountpoints []string) (n int32, err error) {
	err = e.talk(ctx, uuid, func(ctx context.Context, _ *domain, _ *running, c *qga.Client) (err error) {
		n, err = c.Freeze(ctx, mountpoints)
		return err
	})
	return n, err
}

// ThawFilesystems implements server.GuestAgents.
func (e *Engine) ThawFilesystems(ctx context.Context, uuid spec.UUID) (n int32, err error) {
	err = e.talk(ctx, uuid, func(ctx context.Context, _ *domain, _ *running, c *qga.Client) (err error) {
		n, err = c.Thaw(ctx)
		return err
	})
	return n, err
}

// TrimFilesystems implements server.GuestAgents.
func (e *Engine) TrimFilesystems(ctx context.Context, uuid spec.UUID, minimum uint64) error {
	return e.talk(ctx, uuid, func(ctx context.Context, _ *domain, _ *running, c *qga.Client) error { return c.Trim(ctx, minimum) })
}

// GuestFilesystems implements server.GuestAgents.
func (e *Engine) GuestFilesystems(ctx context.Context, uuid spec.UUID) (out []server.GuestFilesystem, err error) {
	err = e.talk(ctx, uuid, func(ctx context.Context, _ *domain, run *running, c *qga.Client) error {
		all, err := c.Filesystems(ctx)
		doc := run.live(false)
		for _, f := range all {
			g := server.GuestFilesystem{Mountpoint: f.Mountpoint, Name: f.Name, Type: f.Type}
			for _, a := range f.Disks {
				if target := diskAt(doc, &a); target != "" && !slices.Contains(g.Disks, target) {
					g.Disks = append(g.Disks, target)
				}
			}
			out = append(out, g)
		}
		return err
	})
	return out, err
}

// GuestTime implements server.GuestAgents.
func (e *Engine) GuestTime(ctx context.Context, uuid spec.UUID) (t time.Time, err error) {
	err = e.talk(ctx, uuid, func(ctx context.Context, _ *domain, _ *running, c *qga.Client) (err error) {
		t, err = c.Time(ctx)
		return err
	})
	return t, err
}

// SetGuestTime implements server.GuestAgents. What the guest's clock has missed must not be made up for afterwards.
func (e *Engine) SetGuestTime(ctx context.Context, uuid spec.UUID, to time.Time) error {
	return e.talk(ctx, uuid, func(ctx context.Context, d *domain, run *running, c *qga.Client) error {
		if err := c.SetTime(ctx, to); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, answerWithin)
		defer cancel()
		err := run.mon.Execute(ctx, "rtc-reset-reinjection", nil, nil)
		if refusal := (*qmp.Error)(nil); errors.As(err, &refusal) && refusal.Class == "CommandNotFound" {
			return nil // a machine whose clock makes up for nothing
		}
		return monitorError(d, "set the clock of", err)
	})
}

// SetGuestPassword implements server.GuestAgents.
func (e *Engine) SetGuestPassword(ctx context.Context, uuid spec.UUID, user, password string, encrypted bool) error {
	return e.talk(ctx, uuid, func(ctx context.Context, _ *domain, _ *running, c *qga.Client) error {
		return c.SetPassword(ctx, user, password, encrypted)
	})
}

// GuestSSHKeys implements server.GuestAgents.
func (e *Engine) GuestSSHKeys(ctx context.Context, uuid spec.UUID, user string) (keys []string, err error) {
	err = e.talk(ctx, uuid, func(ctx context.Context, _ *domain, _ *running, c *qga.Client) (err error) {
		keys, err = c.SSHKeys(ctx, user)
		return err
	})
	return keys, err
}

// SetGuestSSHKeys implements server.GuestAgents.
func (e *Engine) SetGuestSSHKeys(ctx context.Context, uuid spec.UUID, user string, keys []string, flags uint32) error {
	for _, k := range keys {
		if strings.ContainsAny(k, "\r\n") {
			return virterr.New(virterr.InvalidArg, "a key has more than one line")
		}
	}
	return e.talk(ctx, uuid, func(ctx context.Context, _ *domain, _ *running, c *qga.Client) error {
		if flags&server.SSHKeysRemove != 0 {
			return c.RemoveSSHKeys(ctx, user, keys)
		}
		return c.AddSSHKeys(ctx, user, keys, flags&server.SSHKeysAppend == 0)
	})
}

// GuestVCPUs implements server.GuestAgents.
func (e *Engine) GuestVCPUs(ctx context.Context, uuid spec.UUID) (out []server.Param, err error) {
	err = e.talk(ctx, uuid, func(ctx context.Context, _ *domain, _ *running, c *qga.Client) error {
		cpus, err := c.VCPUs(ctx)
		var all, online, offlinable []int64
		for _, cpu := range cpus {
			all = append(all, cpu.ID)
			if cpu.Online {
				online = append(online, cpu.ID)
			}
			if cpu.CanOffline {
				offlinable = append(offlinable, cpu.ID)
			}
		}
		out = []server.Param{
			remote.StringParam("vcpus", qga.Set(all)), remote.StringParam("online", qga.Set(online)), remote.StringParam("offlinable", qga.Set(offlinable)),
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// SetGuestVCPUs implements server.GuestAgents.
func (e *Engine) SetGuestVCPUs(ctx context.Context, uuid spec.UUID, set string, online bool) error {
	wanted, err := qga.ParseSet(set)
	if err != nil {
		return virterr.New(virterr.InvalidArg, "%w", err)
	}
	return e.talk(ctx, uuid, func(ctx context.Context, _ *domain, _ *running, c *qga.Client) error {
		cpus, err := c.VCPUs(ctx)
		if err != nil {
			return err
		}
		var change []qga.VCPU
		for _, id := range wanted {
			i := slices.IndexFunc(cpus, func(cpu qga.VCPU) bool { return cpu.ID == id })
			switch {
			case i < 0:
				return virterr.New(virterr.InvalidArg, "vcpu %d is not present in the guest", id)
			case cpus[i].Online && !online && !cpus[i].CanOffline:
				return virterr.New(virterr.InvalidArg, "vcpu %d cannot be taken out of use in the guest", id)
			}
			change = append(change, qga.VCPU{ID: id, Online: online})
		}
		return vcpuError(c.ChangeVCPUs(ctx, change))
	})
}

// GuestVCPUCount implements server.GuestAgents.
func (e *Engine) GuestVCPUCount(ctx context.Context, uuid spec.UUID, most bool) (n int32, err error) {
	err = e.talk(ctx, uuid, func(ctx context.Context, _ *domain, _ *running, c *qga.Client) error {
		cpus, err := c.VCPUs(ctx)
		for _, cpu := range cpus {
			if most || cpu.Online {
				n++
			}
		}
		return err
	})
	return n, err
}

// SetGuestVCPUCount implements server.GuestAgents.
func (e *Engine) SetGuestVCPUCount(ctx context.Context, uuid spec.UUID, n uint32) error {
	return e.talk(ctx, uuid, func(ctx context.Context, _ *domain, _ *running, c *qga.Client) error {
		cpus, err := c.VCPUs(ctx)
		if err != nil {
			return err
		}
		change, err := qga.Toward(cpus, int(n))
		if err == nil {
			err = c.ChangeVCPUs(ctx, change)
		}
		return vcpuError(err)
	})
}

func vcpuError(err error) error {
	if errors.Is(err, qga.ErrVCPUs) {
		return virterr.New(virterr.InvalidArg, "%w", err)
	}
	return err
}
