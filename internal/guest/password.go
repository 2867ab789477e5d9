package guest

import (
	"strconv"

	"taproom/internal/qemu"
	"taproom/internal/qemu/qmp"
	"taproom/internal/spec"
)

// DisplayPassword is the password of a display: at the start, or a new one at run time.
type DisplayPassword struct {
	Protocol  string // vnc, spice
	Password  string
	Connected string // what becomes of connections: keep, disconnect, fail; "" is QEMU's default, keep
	Expires   string // seconds since 1970, or never
}

// PasswordOf is the password that a document gives a display; ok is false when it gives none.
func PasswordOf(g *spec.Graphics) (p DisplayPassword, ok bool) {
	end, ends, err := g.PasswordEnd()
	if g.Passwd == "" || err != nil { // Validate has read the time before
		return DisplayPassword{}, false
	}
	p = DisplayPassword{Protocol: g.Type, Password: g.Passwd, Connected: g.Connected, Expires: "never"}
	if ends {
		p.Expires = strconv.FormatInt(end.Unix(), 10)
	}
	return p, true
}

// Commands set it over the monitor. A password that ended before lets nobody in until a new one is set with a new end, so
// both are always said.
func (p DisplayPassword) Commands() []qmp.Command {
	set := qemu.Props{{Key: "protocol", Value: p.Protocol}, {Key: "password", Value: p.Password}}
	if p.Connected != "" {
		set = set.With("connected", p.Connected)
	}
	return []qmp.Command{
		{Name: "set_password", Args: set},
		{Name: "expire_password", Args: qemu.Props{{Key: "protocol", Value: p.Protocol}, {Key: "time", Value: p.Expires}}},
	}
}
