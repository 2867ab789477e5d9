package server

import (
	"regexp"
	"strings"
	"time"

	"taproom/internal/api/remote"
	"taproom/internal/api/virterr"
	"taproom/internal/api/xdr"
)

// bindQEMU binds the program of what only QEMU has.
func bindQEMU(p *program) {
	bind(p, remote.QEMUMonitorCommand, func(q *request, a *remote.DomainStringFlags, r *remote.String) (err error) {
		if err := onlyFlags(a.Flags, MonitorCommandHMP, "virDomainQemuMonitorCommand"); err != nil {
			return err
		}
		r.S, err = q.backend.MonitorCommand(q.ctx, a.UUID, a.S, a.Flags&MonitorCommandHMP != 0)
		return err
	})
	bind(p, remote.QEMUAgentCommand, func(q *request, a *remote.AgentCommandArgs, r *remote.OptString) error {
		if err := onlyFlags(a.Flags, 0, "virDomainQemuAgentCommand"); err != nil {
			return err
		}
		answer, err := q.backend.AgentCommand(q.conn.asked, a.UUID, a.Command, a.Timeout)
		*r = remote.OptNonEmpty(answer)
		return err
	})
	bind(p, remote.QEMUMonitorEventRegister, registerMonitor)
	bind(p, remote.QEMUMonitorEventDeregister, deregisterFrom(fromMonitors))
}

// onlyFlags refuses flags that a call does not take. Procedures of this program have the numbers of others of libvirt's.
func onlyFlags(flags, mask uint32, call string) error {
	if odd := flags &^ mask; odd != 0 {
		return virterr.New(virterr.InvalidArg, "unsupported flags (%#x) in function %s", odd, call)
	}
	return nil
}

func registerMonitor(q *request, a *remote.MonitorEventRegister, r *remote.Int) (err error) {
	if err := onlyFlags(a.Flags, MonitorEventRegex|MonitorEventNocase, "virConnectDomainQemuMonitorEventRegister"); err != nil {
		return err
	}
	reg := registration{source: fromMonitors}
	if a.Domain != nil {
		if _, err := q.backend.DomainByUUID(a.Domain.UUID); err != nil {
			return err
		}
		reg.uuid, reg.one = a.Domain.UUID, true
	}
	if a.Event.Set {
		if reg.wants, err = monitorEvents(a.Event.S, a.Flags); err != nil {
			return err
		}
	}
	r.N, err = q.conn.register(reg)
	return err
}

// monitorEvents is the names of events that a pattern means: one, or those that a regular expression matches.
func monitorEvents(pattern string, flags uint32) (func(name string) bool, error) {
	switch {
	case len(pattern) > monitorEventPattern:
		return nil, virterr.New(virterr.InvalidArg, "the name of an event has %d bytes", len(pattern)).In(virterr.FromQEMU)
	case flags&MonitorEventRegex != 0:
		if flags&MonitorEventNocase != 0 {
			pattern = "(?i)" + pattern
		}
		re, err := regexp.Compile(pattern)
		if err != nil {
			return nil, virterr.New(virterr.InvalidArg, "failed to compile regex '%s': %w", pattern, err).In(virterr.FromQEMU)
		}
		return re.MatchString, nil
	case flags&MonitorEventNocase != 0:
		return func(name string) bool { return strings.EqualFold(name, pattern) }, nil
	}
	return func(name string) bool { return name == pattern }, nil
}

// MonitorEvent is an event of a guest's QEMU as its monitor told it.
type MonitorEvent struct {
	Domain  Domain
	Name    string
	Time    time.Time
	Details string // JSON; "" for none
}

func (e MonitorEvent) forms() []form {
	return []form{{
		source: fromMonitors, uuid: e.Domain.UUID, program: remote.ProgramQEMU, procedure: remote.QEMUMonitorEvent, name: e.Name,
		payload: func(callback int32, _ bool) xdr.Value {
			return &remote.MonitorEvent{
				Callback: callback, Domain: wireDomain(e.Domain), Event: e.Name,
				Seconds: e.Time.Unix(), Micros: uint32(e.Time.Nanosecond() / 1000), Details: remote.OptNonEmpty(e.Details),
			}
		},
	}}
}
