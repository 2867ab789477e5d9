package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"taproom/internal/api/remote"
	"taproom/internal/api/server"
	"taproom/internal/qemu/qga"
	"taproom/internal/spec"
)

// guestInfoGroup is one group of figures that an agent is asked for.
type guestInfoGroup struct {
	bit uint32
	ask func(ctx context.Context, c *qga.Client, doc *spec.Domain) ([]server.Param, error)
}

func guestInfoGroups() []guestInfoGroup {
	return []guestInfoGroup{
		{server.GuestInfoUsers, infoUsers},
		{server.GuestInfoOS, infoOS},
		{server.GuestInfoTimezone, infoTimezone},
		{server.GuestInfoHostname, infoHostname},
		{server.GuestInfoFilesystem, infoFilesystems},
		{server.GuestInfoDisks, infoDisks},
		{server.GuestInfoInterfaces, infoInterfaces},
		{server.GuestInfoLoad, infoLoad},
	}
}

// GuestInfo implements server.GuestAgents. What an agent does not know is left out, unless it was asked for by name.
func (e *Engine) GuestInfo(ctx context.Context, uuid spec.UUID, types uint32) (out []server.Param, err error) {
	err = e.talk(ctx, uuid, func(ctx context.Context, _ *domain, run *running, c *qga.Client) error {
		doc := run.live(false)
		for _, g := range guestInfoGroups() {
			if types != 0 && types&g.bit == 0 {
				continue
			}
			params, err := g.ask(ctx, c, doc)
			if err != nil && (types != 0 || !unknownToAgent(err)) {
				return err
			}
			out = append(out, params...)
		}
		return nil
	})
	return out, err
}

func unknownToAgent(err error) bool {
	var refusal *qga.Error
	return errors.As(err, &refusal) && refusal.Unknown()
}

// texts are the parameters of those texts that there are.
func texts(prefix string, pairs ...string) []server.Param {
	var out []server.Param
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			out = append(out, remote.StringParam(prefix+pairs[i], pairs[i+1]))
		}
	}
	return out
}

// counted are the parameters of a list: how many there are, and those of each.
func counted[T any](name string, list []T, each func(prefix string, item T) []server.Param) []server.Param {
	out := []server.Param{remote.UintParam(name+".count", uint32(len(list)))}
	for i, item := range list {
		out = append(out, each(fmt.Sprintf("%s.%d.", name, i), item)...)
	}
	return out
}

func infoUsers(ctx context.Context, c *qga.Client, _ *spec.Domain) ([]server.Param, error) {
	users, err := c.Users(ctx)
	if err != nil {
		return nil, err
	}
	return counted("user", users, func(prefix string, u qga.User) []server.Param {
		out := texts(prefix, "name", u.Name, "domain", u.Domain)
		if u.Login > 0 && u.Login < 1e15 {
			out = append(out, remote.Uint64Param(prefix+"login-time", uint64(u.Login*1000)))
		}
		return out
	}), nil
}

func infoOS(ctx context.Context, c *qga.Client, _ *spec.Domain) ([]server.Param, error) {
	o, err := c.OSInfo(ctx)
	return texts("os.", "id", o.ID, "name", o.Name, "pretty-name", o.PrettyName, "version", o.Version, "version-id", o.VersionID,
		"machine", o.Machine, "variant", o.Variant, "variant-id", o.VariantID, "kernel-release", o.KernelRelease, "kernel-version", o.KernelVersion), err
}

func infoTimezone(ctx context.Context, c *qga.Client, _ *spec.Domain) ([]server.Param, error) {
	z, err := c.Timezone(ctx)
	if err != nil {
		return nil, err
	}
	return append(texts("timezone.", "name", z.Zone), remote.IntParam("timezone.offset", z.Offset)), nil
}

func infoHostname(ctx context.Context, c *qga.Client, _ *spec.Domain) ([]server.Param, error) {
	name, err := c.Hostname(ctx)
	return texts("", "hostname", name), err
}

func infoLoad(ctx context.Context, c *qga.Client, _ *spec.Domain) ([]server.Param, error) {
	l, err := c.Load(ctx)
	if err != nil {
		return nil, err
	}
	return []server.Param{remote.DoubleParam("load.1m", l.One), remote.DoubleParam("load.5m", l.Five), remote.DoubleParam("load.15m", l.Fifteen)}, nil
}

func infoFilesystems(ctx context.Context, c *qga.Client, doc *spec.Domain) ([]server.Param, error) {
	all, err := c.Filesystems(ctx)
	if err != nil {
		return nil, err
	}
	return counted("fs", all, func(prefix string, f qga.Filesystem) []server.Param {
		out := texts(prefix, "name", f.Name, "mountpoint", f.Mountpoint, "fstype", f.Type)
		if f.Total != nil {
			out = append(out, remote.Uint64Param(prefix+"total-bytes", *f.Total))
		}
		if f.Used != nil {
			out = append(out, remote.Uint64Param(prefix+"used-bytes", *f.Used))
		}
		return append(out, counted(prefix+"disk", f.Disks, func(prefix string, a qga.DiskAddress) []server.Param {
			return texts(prefix, "alias", diskAt(doc, &a), "serial", a.Serial, "device", a.Device)
		})...)
	}), nil
}

func infoDisks(ctx context.Context, c *qga.Client, doc *spec.Domain) ([]server.Param, error) {
	all, err := c.Disks(ctx)
	if err != nil {
		return nil, err
	}
	return counted("disk", all, func(prefix string, k qga.Disk) []server.Param {
		out := append(texts(prefix, "name", k.Name), remote.BoolParam(prefix+"partition", k.Partition))
		if len(k.Dependencies) > 0 {
			out = append(out, counted(prefix+"dependency", k.Dependencies, func(prefix string, name string) []server.Param {
				return texts(prefix, "name", name)
			})...)
		}
		if k.Address != nil {
			out = append(out, texts(prefix, "serial", k.Address.Serial, "alias", diskAt(doc, k.Address), "guest_bus", k.Address.Type)...)
		}
		return append(out, texts(prefix, "guest_alias", k.Alias)...)
	}), nil
}

func infoInterfaces(ctx context.Context, c *qga.Client, _ *spec.Domain) ([]server.Param, error) {
	all, err := c.Interfaces(ctx)
	if err != nil {
		return nil, err
	}
	return counted("if", all, func(prefix string, i qga.Interface) []server.Param {
		out := texts(prefix, "name", i.Name, "hwaddr", i.MAC)
		if len(i.Addresses) == 0 {
			return out
		}
		out = append(out, remote.UintParam(prefix+"addr.count", uint32(len(i.Addresses))))
		for n, a := range i.Addresses {
			at := prefix + "addr." + strconv.Itoa(n) + "."
			out = append(append(out, texts(at, "type", a.Type, "addr", a.Addr)...), remote.UintParam(at+"prefix", a.Prefix))
		}
		return out
	}), nil
}

// diskAt is the target of the disk that a guest sees at an address; "" when the domain has none there.
func diskAt(doc *spec.Domain, a *qga.DiskAddress) string {
	for _, d := range doc.Devices.Disks {
		switch {
		case d.Address == nil:
		case d.Address.Type == "pci":
			if samePCI(d.Address, a.PCI) {
				return d.Target.Dev
			}
		case d.Address.Type == "drive":
			if number(d.Address.Bus) == a.Bus && number(d.Address.Target) == a.Target && number(d.Address.Unit) == a.Unit && onController(doc, &d, a.PCI) {
				return d.Target.Dev
			}
		}
	}
	return ""
}

// onController reports whether a drive's controller is at an address. What the machine has built in has none in a document.
func onController(doc *spec.Domain, d *spec.Disk, at qga.PCIAddress) bool {
	for _, c := range doc.Devices.Controllers {
		if c.Type == d.Target.Bus && number(c.Index) == number(d.Address.Controller) && c.Address != nil {
			return samePCI(c.Address, at)
		}
	}
	return false
}

func samePCI(a *spec.Address, at qga.PCIAddress) bool {
	return number(a.Domain) == at.Domain && number(a.Bus) == at.Bus && number(a.Slot) == at.Slot && number(a.Function) == at.Function
}

// number reads a part of an address, which is written in decimal or hexadecimal; nothing is 0.
func number(s string) int {
	n, err := strconv.ParseInt(s, 0, 32)
	if err != nil && s != "" {
		return -1
	}
	return int(n)
}
