package spec

import "strings"

import "strconv"

// ROM is a card's option ROM.
type ROM struct {
	Enabled string `xml:"enabled,attr,omitempty"` // no: the card has none
	Bar     string `xml:"bar,attr,omitempty"`     // off: the guest does not see it
	File    string `xml:"file,attr,omitempty"`    // in the place of its own
	Extra
}

// Teaming makes a pair of a virtio NIC, which stays (persistent), and a host device, which goes for a migration (transient).
type Teaming struct {
	Type       string `xml:"type,attr"`
	Persistent string `xml:"persistent,attr,omitempty"`
	Extra
}

// NICTune is how much may wait on the host's side of a NIC for who receives it.
type NICTune struct {
	SndBuf string `xml:"sndbuf,omitempty"` // in bytes; 0 is without bound
	Extra
}

// Coalesce is how many packets the tap gathers before it tells the host's stack of them.
type Coalesce struct {
	Rx *CoalesceRx `xml:"rx"`
	Extra
}

// CoalesceRx is Coalesce for what the tap receives.
type CoalesceRx struct {
	Frames *CoalesceFrames `xml:"frames"`
	Extra
}

// CoalesceFrames is the number of packets.
type CoalesceFrames struct {
	Max string `xml:"max,attr,omitempty"`
	Extra
}

// BridgePort is what a NIC's port on a bridge is like.
type BridgePort struct {
	Isolated string `xml:"isolated,attr,omitempty"` // yes: it does not reach the bridge's other isolated ports
	Extra
}

// Isolated reports whether the NIC does not reach its bridge's other isolated ports.
func (n *Interface) Isolated() bool { return n.Port != nil && n.Port.Isolated == "yes" }

// Why the host's end of type='ethernet' is left alone once it is made.
const (
	noScripts     = "no program of a document's is run as root; make the tap before, and name it with managed='no'"
	noHostAddress = "the host's end gets no address; use type='network' with a network of its own, or make the tap before, with an address, and name it with managed='no'"
)

// nicLinkRules judge the host's side of a NIC.
func nicLinkRules() map[string]rule {
	return map[string]rule{
		"devices/interface/script":       refuse(noScripts),
		"devices/interface/downscript":   refuse(noScripts),
		"devices/interface/source/ip":    refuse(noHostAddress),
		"devices/interface/source/route": refuse(noHostAddress),

		"devices/interface/coalesce/rx/frames/@max": number(0, 1<<31-1),
		"devices/interface/port/@isolated":          yesNo(),

		"devices/interface/rom/@bar":            onOff(),
		"devices/interface/rom/@enabled":        yesNo(),
		"devices/interface/rom/@file":           pattern(`/[^\x00]*`, "an absolute path"),
		"devices/interface/teaming/@type":       values("persistent", "transient"),
		"devices/interface/teaming/@persistent": refuse("it is for the transient half of a pair, a host device, and these are not passed through yet"),
		"devices/interface/tune/sndbuf":         number(0, 1<<31-1),
	}
}

// checkLink holds what does not go together.
func (n *Interface) checkLink() error {
	const at = "devices/interface/"
	tap := n.Type == "network" || n.Type == "bridge" || n.Type == "ethernet"
	switch {
	case n.ROM != nil && n.ROM.Enabled == "no" && (n.ROM.Bar != "" || n.ROM.File != ""):
		return invalid(at+"rom", "a ROM that is not there (enabled='no') has neither a bar nor a file")
	case n.Teaming != nil && n.Teaming.Type == "":
		return invalid(at+"teaming/@type", "it is missing; use persistent")
	case n.Teaming != nil && !n.Virtio():
		return unsupported(at+"teaming", "QEMU makes pairs with virtio NICs alone; use <model type='virtio'/>")
	case n.Coalesce.Frames() > 0 && (!tap || n.GivenTap()):
		return unsupported(at+"coalesce", "it is for NICs on a tap that is made for them: the types network, bridge and ethernet, not %s", n.Type)
	case n.Tune != nil && n.Tune.SndBuf != "" && !tap:
		return unsupported(at+"tune/sndbuf", "it is for NICs on a tap: the types network, bridge and ethernet, not %s", n.Type)
	case n.Port != nil && n.Port.Isolated == "yes" && n.Type != "network" && n.Type != "bridge":
		return unsupported(at+"port/@isolated", "it is for ports of a bridge: the types network and bridge, not %s", n.Type)
	}
	return nil
}

// Frames is how many packets a tap gathers; 0 is none beyond what the kernel does by itself. The document was checked.
func (c *Coalesce) Frames() uint32 {
	if c == nil || c.Rx == nil || c.Rx.Frames == nil {
		return 0
	}
	n, _ := strconv.ParseUint(c.Rx.Frames.Max, 10, 32)
	return uint32(n)
}

// NameTemplate is the template that the name of a NIC's link is to be made from, such as "web%d"; "" for none.
func (n *Interface) NameTemplate() string {
	if n.Target == nil || !strings.Contains(n.Target.Dev, "%") {
		return ""
	}
	return n.Target.Dev
}

// GivenTap reports whether a NIC's tap is there already, and stays.
func (n *Interface) GivenTap() bool {
	return n.Type == "ethernet" && n.Target != nil && n.Target.Managed == "no"
}
