package guest

import (
	"strings"
	"testing"
)

func TestDevicesThatCannotBeAreRefusedByName(t *testing.T) {
	t.Parallel()
	const spice = "<graphics type='spice' autoport='yes'/>"
	for _, c := range []struct{ name, machine, devices, want string }{
		{"two displays of a kind", "pc", "<graphics type='vnc'/><graphics type='vnc'/>", "only one display of type vnc"},
		{"a display on the host's screen", "pc", "<graphics type='sdl'/>", `"sdl" is not implemented; use vnc or spice`},
		{"OpenGL", "pc", "<graphics type='spice'><gl enable='yes'/></graphics>", "there is no OpenGL"},
		{"TLS", "pc", "<graphics type='spice' tlsPort='5901'/>", "displays are not encrypted"},
		{"secure channels", "pc", "<graphics type='spice' autoport='yes' defaultMode='secure'/>", "displays are not encrypted"},
		{"a socket of the document's", "pc", "<graphics type='spice'><listen type='socket' socket='/a'/></graphics>", "leave /a out"},
		{"a websocket on a socket", "pc", "<graphics type='vnc' websocket='-1'><listen type='socket'/></graphics>", "a websocket needs a display that listens on an address"},
		{"a network without a port", "pc", "<graphics type='spice'><listen type='network' network='n'/></graphics>", "needs a port, or autoport='yes'"},
		{"a network without a name", "pc", "<graphics type='vnc'><listen type='network'/></graphics>", "type network needs one"},
		{"SPICE's elements of VNC", "pc", "<graphics type='vnc'><image compression='off'/></graphics>", "it is for type spice"},
		{"VNC's attributes of SPICE", "pc", "<graphics type='spice' websocket='-1'/>", "it is for type vnc"},
		{"a long VNC password", "pc", "<graphics type='vnc' passwd='123456789'/>", "at most 8 characters"},
		{"a time that is none", "pc", "<graphics type='vnc' passwd='a' passwdValidTo='2030-02-31T00:00:00'/>", "is no time such as"},
		{"VNC that disconnects", "pc", "<graphics type='vnc' passwd='a' connected='fail'/>", "VNC only supports keep"},
		{"sound of no backend", "pc", "<graphics type='vnc'><audio id='2'/></graphics>", "no <audio> with id 2"},
		{"SPICE's sound without SPICE", "pc", "<audio id='1' type='spice'/>", "needs <graphics type='spice'/>"},
		{"two backends of a number", "pc", "<audio id='1' type='none'/><audio id='1' type='none'/>", "id 1 is used by two backends"},
		{"a card of no backend", "pc", "<sound model='ac97'><audio id='7'/></sound>", "no <audio> with id 7"},
		{"codecs of AC97", "pc", "<sound model='ac97'><codec type='duplex'/></sound>", "for models ich6 and ich9"},
		{"two sb16", "pc", "<sound model='sb16'/><sound model='sb16'/>", "only one card of model sb16"},
		{"sound on microvm", "microvm", "<sound model='ich9'/>", "has no sound"},
		{"vgamem of virtio", "pc", "<video><model type='virtio' vgamem='1024'/></video>", "are for qxl, not for virtio"},
		{"two heads of vga", "pc", "<video><model type='vga' heads='2'/></video>", "vga has one head"},
		{"a resolution of cirrus", "pc", "<video><model type='cirrus'><resolution x='1' y='1'/></model></video>", "does not let its resolution be chosen"},
		{"a second bochs", "pc", "<video><model type='vga'/></video><video><model type='bochs'/></video>", "only possible as the primary card"},
		{"the agent without SPICE", "pc", "<channel type='spicevmc'><target type='virtio'/></channel>", "type spicevmc needs <graphics type='spice'/>"},
		{"redirection without SPICE", "pc", "<redirdev bus='usb' type='spicevmc'/>", "type spicevmc needs <graphics type='spice'/>"},
		{"redirection on microvm", "microvm", "<redirdev bus='usb' type='tcp'><source mode='connect' host='127.0.0.1' service='1'/></redirdev>", "has no USB"},
		{"a hub on microvm", "microvm", "<hub type='usb'/>", "has no USB"},
		{"a port behind no hub", "pc", "<input type='mouse' bus='usb'><address type='usb' bus='0' port='1.1'/></input>", "there is no USB hub in port 1"},
		{"port 9 of a hub", "pc", "<hub type='usb'><address type='usb' bus='0' port='1'/></hub><input type='mouse' bus='usb'><address type='usb' bus='0' port='1.9'/></input>", "a hub has 8"},
		{"two cards in a reader", "pc", spice + "<smartcard mode='passthrough' type='spicevmc'><address type='ccid' controller='0' slot='0'/></smartcard><smartcard mode='passthrough' type='spicevmc'><address type='ccid' controller='0' slot='0'/></smartcard>", "has one slot"},
		{"a card of the host", "pc", "<smartcard mode='host'/>", `"host" is not implemented`},
		{"a rule that says nothing", "pc", "<redirfilter><usbdev class='0x03'/></redirfilter>", "it is missing (rule 1)"},
		{"a name on the network", "pc", "<serial type='tcp'><source mode='connect' host='localhost' service='1'/></serial>", "does not look up names"},
		{"tcp without a port", "pc", "<serial type='tcp'><source mode='bind' host='127.0.0.1'/></serial>", "it is missing (serial 1)"},
		{"an encrypted port", "pc", "<serial type='tcp'><source mode='bind' host='127.0.0.1' service='1' tls='yes'/></serial>", "are not encrypted"},
		{"a protocol of a terminal", "pc", "<serial type='pty'><protocol type='raw'/></serial>", "it is for type tcp"},
		{"a pipe", "pc", "<serial type='pipe'><source path='/a'/></serial>", `"pipe" is not implemented`},
		{"a clipboard of a terminal", "pc", "<channel type='pty'><source><clipboard copypaste='yes'/></source><target type='virtio'/></channel>", "are for type qemu-vdagent"},
		{"four parallel ports", "pc", strings.Repeat("<parallel type='null'/>", 4), "only three parallel ports"},
		{"a model that is not the type's", "pc", "<serial type='pty'><target type='pci-serial'><model name='usb-serial'/></target></serial>", `name="usb-serial" does not fit`},
		{"Hyper-V's panic", "pc", "<panic model='hyperv'/>", `"hyperv" is not implemented`},
	} {
		doc := document(c.machine, "", c.devices)
		err := parse(t, doc).Validate()
		if err == nil {
			_, err = compiled(t, doc, nil)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
}

// An emulator that was installed without SPICE's modules says so when the guest is defined, not when it starts.
func TestWhatTheEmulatorLacksIsRefused(t *testing.T) {
	t.Parallel()
	host := pcHost()
	host.Devices, host.Chardevs = []string{"VGA"}, []string{"chardev-pty"}
	for devices, want := range map[string]string{
		"<graphics type='spice'/>":                                       "has no SPICE; install qemu-system-modules-spice",
		"<video><model type='qxl'/></video>":                             "has no qxl",
		"<sound model='virtio'/>":                                        "has no virtio-sound-pci",
		"<panic model='pvpanic'/>":                                       "has no pvpanic-pci",
		"<smartcard mode='passthrough' type='spicevmc'/>":                "needs <graphics type='spice'/>",
		"<channel type='qemu-vdagent'><target type='virtio'/></channel>": "has no qemu-vdagent",
		"<redirdev bus='usb' type='tcp'><source mode='connect' host='127.0.0.1' service='1'/></redirdev>": "has no USB redirection",
	} {
		if err := Complete(parse(t, document("q35", "", devices)), host); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", devices, err, want)
		}
	}
}
