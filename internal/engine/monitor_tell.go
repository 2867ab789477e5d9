package engine

import (
	"context"
	"encoding/json"

	"taproom/internal/api/remote"
	"taproom/internal/api/server"
	"taproom/internal/qemu/qmp"
)

// tell hands one kind of QEMU's events on to clients; nothing else follows from it here. What QEMU says in another form
// than expected is not told.
func tell[T any](event func(run *running, ref server.Domain, data T) server.Event) func(*Engine, context.Context, *domain, *running, qmp.Event) {
	return func(e *Engine, _ context.Context, d *domain, run *running, ev qmp.Event) {
		var data T
		if len(ev.Data) > 0 && json.Unmarshal(ev.Data, &data) != nil {
			return
		}
		if out := event(run, d.view().ref, data); out != nil {
			e.publish(out)
		}
	}
}

// memoryFailure is the data of MEMORY_FAILURE.
type memoryFailure struct {
	Recipient string `json:"recipient"`
	Action    string `json:"action"`
	Flags     struct {
		Required  bool `json:"action-required"`
		Recursive bool `json:"recursive"`
	} `json:"flags"`
}

func tellMemoryFailure(_ *running, ref server.Domain, data memoryFailure) server.Event {
	// virDomainMemoryFailureRecipientType, …ActionType, …Flags
	recipients := map[string]int32{"hypervisor": 0, "guest": 1}
	actions := map[string]int32{"ignore": 0, "inject": 1, "fatal": 2, "reset": 3}
	recipient, known := recipients[data.Recipient]
	action, certain := actions[data.Action]
	if !known || !certain {
		return nil
	}
	out := server.DomainMemoryFailure{Domain: ref, Recipient: recipient, Action: action}
	if data.Flags.Required {
		out.Flags |= 1
	}
	if data.Flags.Recursive {
		out.Flags |= 2
	}
	return out
}

// memoryDevice is the data of MEMORY_DEVICE_SIZE_CHANGE.
type memoryDevice struct {
	ID   string `json:"id"`
	Size uint64 `json:"size"` // bytes
}

func tellMemoryDevice(_ *running, ref server.Domain, data memoryDevice) server.Event {
	if data.ID == "" {
		return nil
	}
	return server.DomainMemoryDeviceSize{Domain: ref, Alias: data.ID, SizeKiB: data.Size >> 10}
}

// displayPeer is one end of a connection to a display, as VNC_CONNECTED, SPICE_CONNECTED and their siblings tell it. A
// port of SPICE is a number in some versions and a text in others; VNC calls it service.
type displayPeer struct {
	Host    string          `json:"host"`
	Service string          `json:"service"`
	Port    json.RawMessage `json:"port"`
	Family  string          `json:"family"`
	Auth    string          `json:"auth"`
	DName   string          `json:"x509_dname"`
	SASL    string          `json:"sasl_username"`
}

func (p *displayPeer) address() remote.GraphicsAddress {
	a := remote.GraphicsAddress{Node: p.Host, Service: p.Service}
	if a.Service == "" && len(p.Port) > 0 && json.Unmarshal(p.Port, &a.Service) != nil {
		a.Service = string(p.Port)
	}
	switch p.Family { // virDomainEventGraphicsAddressType
	case "ipv6":
		a.Family = 1
	case "unix":
		a.Family = 2
	}
	return a
}

// displayClient is the data of those events.
type displayClient struct {
	Server displayPeer `json:"server"`
	Client displayPeer `json:"client"`
}

// tellDisplay is for a phase of virDomainEventGraphicsPhase.
func tellDisplay(phase int32) func(*running, server.Domain, displayClient) server.Event {
	return func(_ *running, ref server.Domain, data displayClient) server.Event {
		out := server.DomainGraphics{
			Domain: ref, Phase: phase, Local: data.Server.address(), Remote: data.Client.address(), AuthScheme: data.Server.Auth,
		}
		for _, i := range []remote.GraphicsIdentity{{Type: "x509dname", Name: data.Client.DName}, {Type: "saslUsername", Name: data.Client.SASL}} {
			if i.Name != "" {
				out.Identities = append(out.Identities, i)
			}
		}
		return out
	}
}

// The phases of a connection to a display.
const (
	displayConnect    = 0
	displayInitialize = 1
	displayDisconnect = 2
)
