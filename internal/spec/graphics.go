package spec

import (
	"fmt"
	"strings"
	"time"
)

// Graphics is a display server: vnc or spice.
type Graphics struct {
	Type          string           `xml:"type,attr"`
	Port          string           `xml:"port,attr,omitempty"`
	TLSPort       string           `xml:"tlsPort,attr,omitempty"` // of spice
	AutoPort      string           `xml:"autoport,attr,omitempty"`
	WebSocket     string           `xml:"websocket,attr,omitempty"` // of vnc
	Listen        string           `xml:"listen,attr,omitempty"`
	Socket        string           `xml:"socket,attr,omitempty"` // of vnc
	Keymap        string           `xml:"keymap,attr,omitempty"`
	DefaultMode   string           `xml:"defaultMode,attr,omitempty"`  // of spice: any, secure, insecure
	SharePolicy   string           `xml:"sharePolicy,attr,omitempty"`  // of vnc
	PowerControl  string           `xml:"powerControl,attr,omitempty"` // of vnc
	Passwd        string           `xml:"passwd,attr,omitempty"`       // a secret: only with VIR_DOMAIN_XML_SECURE
	PasswdValidTo string           `xml:"passwdValidTo,attr,omitempty"`
	Connected     string           `xml:"connected,attr,omitempty"` // what a new password does to connections
	Listens       []GraphicsListen `xml:"listen"`
	Channels      []SpiceChannel   `xml:"channel"`
	Image         *Element         `xml:"image"`
	JPEG          *Element         `xml:"jpeg"`
	Zlib          *Element         `xml:"zlib"`
	Playback      *Element         `xml:"playback"`
	Streaming     *Element         `xml:"streaming"`
	Mouse         *Element         `xml:"mouse"`
	Clipboard     *Element         `xml:"clipboard"`
	FileTransfer  *Element         `xml:"filetransfer"`
	GL            *Element         `xml:"gl"`
	Audio         *GraphicsAudio   `xml:"audio"`
	Extra
}

// GraphicsListen is where a display server listens.
type GraphicsListen struct {
	Type    string `xml:"type,attr"` // address, network, socket, none
	Address string `xml:"address,attr,omitempty"`
	Network string `xml:"network,attr,omitempty"`
	Socket  string `xml:"socket,attr,omitempty"`
	Extra
}

// SpiceChannel says whether one of SPICE's channels is encrypted: secure, insecure or any.
type SpiceChannel struct {
	Name string `xml:"name,attr"`
	Mode string `xml:"mode,attr"`
	Extra
}

// GraphicsAudio is the audio backend whose sound a VNC client may hear, by number.
type GraphicsAudio struct {
	ID string `xml:"id,attr"`
	Extra
}

// passwordTime is how a document writes until when a password is valid, in UTC.
const passwordTime = "2006-01-02T15:04:05"

// PasswordEnd is until when the password is valid; ok is false when it does not end.
func (g *Graphics) PasswordEnd() (end time.Time, ok bool, err error) {
	if g.PasswdValidTo == "" {
		return time.Time{}, false, nil
	}
	end, err = time.Parse(passwordTime, g.PasswdValidTo)
	if err != nil {
		return time.Time{}, false, fmt.Errorf("%q is no time such as 2030-01-31T23:59:59", g.PasswdValidTo)
	}
	return end, true, nil
}

// portPattern is a port, -1 or 0.
const portPattern = `-1|[0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]`

// noTLS is why nothing is encrypted: the key would have to be readable for each guest's user.
const noTLS = "displays are not encrypted: guests have users of their own, who may not read the host's key; use a tunnel (qemu+ssh, or ssh -L)"

func graphicsRules() map[string]rule {
	compression := values("auto never always", "")
	return map[string]rule{
		"devices/graphics/@type":                 values("vnc spice", "sdl rdp desktop dbus egl-headless"),
		"devices/graphics/@port":                 pattern(portPattern, "-1 to 65535"),
		"devices/graphics/@tlsPort":              just("-1 0", noTLS),
		"devices/graphics/@websocket":            pattern(portPattern, "-1 to 65535"),
		"devices/graphics/@autoport":             yesNo(),
		"devices/graphics/@keymap":               pattern(`[A-Za-z0-9_-]+`, "a keyboard layout such as en-us"),
		"devices/graphics/@sharePolicy":          values("allow-exclusive force-shared ignore", ""),
		"devices/graphics/@connected":            values("keep disconnect fail", ""),
		"devices/graphics/@passwdValidTo":        pattern(`[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}`, "a time such as 2030-01-31T23:59:59"),
		"devices/graphics/@powerControl":         yesNo(),
		"devices/graphics/@defaultMode":          just("any insecure", noTLS),
		"devices/graphics/audio/@id":             number(1, 1<<31-1),
		"devices/graphics/listen/@type":          values("address network socket none", ""),
		"devices/graphics/channel/@name":         values("main display inputs cursor playback record smartcard usbredir", ""),
		"devices/graphics/channel/@mode":         just("any insecure", noTLS),
		"devices/graphics/image/@compression":    values("auto_glz auto_lz quic glz lz off", ""),
		"devices/graphics/jpeg/@compression":     compression,
		"devices/graphics/zlib/@compression":     compression,
		"devices/graphics/playback/@compression": onOff(),
		"devices/graphics/streaming/@mode":       values("filter all off", ""),
		"devices/graphics/mouse/@mode":           values("server client", ""),
		"devices/graphics/clipboard/@copypaste":  yesNo(),
		"devices/graphics/filetransfer/@enable":  yesNo(),
		"devices/graphics/gl/@enable":            just("no", "guests have no rights on the host's graphics card, so there is no OpenGL"),
		"devices/graphics/gl/@rendernode":        refuse("guests have no rights on the host's graphics card"),
		"devices/graphics/@multiUser":            refuse("it is for rdp"),
		"devices/graphics/@replaceUser":          refuse("it is for rdp"),
		"devices/graphics/@display":              refuse("it is for windows on the host's own screen"),
		"devices/graphics/@xauth":                refuse("it is for windows on the host's own screen"),
		"devices/graphics/@fullscreen":           refuse("it is for windows on the host's own screen"),
	}
}

func (g *Graphics) check() error {
	const at = "devices/graphics/"
	_, _, err := g.PasswordEnd()
	switch {
	case g.Type == "":
		return invalid(at+"@type", "it is missing; use vnc or spice")
	case err != nil:
		return invalid(at+"@passwdValidTo", "%s", err)
	case g.Type == "vnc" && len(g.Passwd) > 8:
		return invalid(at+"@passwd", "VNC passwords have at most 8 characters")
	case g.Type == "vnc" && g.Connected != "" && g.Connected != "keep":
		return unsupported(at+"@connected", "%q is for spice; VNC only supports keep", g.Connected)
	case g.Listen != "" && len(g.Listens) > 0 && g.Listens[0].Type == "address" && g.Listens[0].Address != "" && g.Listens[0].Address != g.Listen:
		return invalid(at+"@listen", "%q differs from %q in <listen>", g.Listen, g.Listens[0].Address)
	case g.Socket != "" && !strings.HasPrefix(g.Socket, "/"):
		return invalid(at+"@socket", "%q is not an absolute path", g.Socket)
	case len(g.Listens) > 1:
		return unsupported(at+"listen", "a display listens at one place")
	case len(g.Listens) == 1 && g.Listens[0].Type == "network" && g.Listens[0].Network == "":
		return invalid(at+"listen/@network", "it is missing; type network needs one")
	}
	if err := g.checkListen(); err != nil {
		return err
	}
	return g.checkType()
}

// checkListen refuses what is said of another kind of place than the display listens at.
func (g *Graphics) checkListen() error {
	const at = "devices/graphics/listen/"
	if len(g.Listens) == 0 {
		return nil
	}
	l := &g.Listens[0]
	switch {
	case l.Type == "":
		return invalid(at+"@type", "it is missing; use address, network, socket or none")
	case l.Address != "" && l.Type != "address" && l.Type != "network":
		return invalid(at+"@address", "it is for type address, not %s", l.Type)
	case l.Network != "" && l.Type != "network":
		return invalid(at+"@network", "it is for type network, not %s", l.Type)
	case l.Socket != "" && l.Type != "socket":
		return invalid(at+"@socket", "it is for type socket, not %s", l.Type)
	case g.Socket != "" && g.Socket != l.Socket:
		return invalid("devices/graphics/@socket", "%q differs from what <listen> says", g.Socket)
	}
	return nil
}

// checkType refuses what the other kind of display has.
func (g *Graphics) checkType() error {
	const at = "devices/graphics/"
	other := []struct {
		name string
		set  bool
	}{
		{"@tlsPort", g.TLSPort != ""},
		{"@defaultMode", g.DefaultMode != ""},
		{"channel", len(g.Channels) > 0},
		{"image", g.Image != nil},
		{"jpeg", g.JPEG != nil},
		{"zlib", g.Zlib != nil},
		{"playback", g.Playback != nil},
		{"streaming", g.Streaming != nil},
		{"mouse", g.Mouse != nil},
		{"clipboard", g.Clipboard != nil},
		{"filetransfer", g.FileTransfer != nil},
		{"gl", g.GL != nil},
	}
	is := "spice"
	if g.Type == "spice" {
		is = "vnc"
		other = other[:0]
		for _, o := range []struct{ name, value string }{
			{"@websocket", g.WebSocket}, {"@socket", g.Socket}, {"@sharePolicy", g.SharePolicy}, {"@powerControl", g.PowerControl},
		} {
			other = append(other, struct {
				name string
				set  bool
			}{o.name, o.value != ""})
		}
		if g.Audio != nil {
			return invalid(at+"audio", "it is for type vnc")
		}
	}
	for _, o := range other {
		if o.set {
			return invalid(at+o.name, "it is for type %s", is)
		}
	}
	return nil
}
