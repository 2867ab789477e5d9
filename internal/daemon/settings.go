package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os/user"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"taproom/internal/api/server"
	"taproom/internal/engine"
	"taproom/internal/host"
)

// Settings are taproomd.toml. Every one has a default that serves.
type Settings struct {
	// Group may open the read-write sockets beside root: that is as good as being root.
	Group string `toml:"group"`
	// Emulator is the QEMU of documents that name none.
	Emulator string `toml:"emulator"`
	// UIDFirst and UIDCount are the range that running guests get a uid of their own from.
	UIDFirst int64 `toml:"uid_first"`
	UIDCount int64 `toml:"uid_count"`
	// VNCPortFirst and VNCPortLast are the TCP ports that graphics with autoport get.
	VNCPortFirst int64 `toml:"vnc_port_first"`
	VNCPortLast  int64 `toml:"vnc_port_last"`
	// QEMUReadySeconds is how long a guest's QEMU may take from its start until its monitor answers.
	QEMUReadySeconds int64 `toml:"qemu_ready_seconds"`
	// OVSSocket is where the database of Open vSwitch listens.
	OVSSocket string `toml:"ovs_socket"`
	// OVSTimeoutSeconds is how long that may take to answer, and the switch to take a change up.
	OVSTimeoutSeconds int64 `toml:"ovs_timeout_seconds"`
	// HealLinks says that what others change of links of guests and networks is put back while the daemon runs.
	HealLinks bool `toml:"heal_links"`
	// HealFirewall says that what others change of the firewall's rules of networks, and of forwarding, is put back.
	HealFirewall bool `toml:"heal_firewall"`
	// MACFilter says that guests send with the addresses of their NICs alone, where their documents do not say otherwise.
	MACFilter bool `toml:"mac_filter"`
	// FirewallBackend keeps the rules of networks: nftables or iptables; auto takes the first of them that works.
	FirewallBackend string `toml:"firewall_backend"`
	// NFTOwnedTables says that nobody else can change the firewall's tables, where the kernel knows owners of tables.
	NFTOwnedTables bool `toml:"nft_owned_tables"`
	// SystemBus is where the system's D-Bus listens, on which firewalld is.
	SystemBus string `toml:"system_bus"`
	// SaveImageFormat and DumpImageFormat are how saved guests and core dumps are kept: raw, gzip, xz or zstd.
	SaveImageFormat string `toml:"save_image_format"`
	DumpImageFormat string `toml:"dump_image_format"`
	// MaxClients bounds the number of connections; MaxUserClients bounds the connections of each user other than root.
	MaxClients     int64 `toml:"max_clients"`
	MaxUserClients int64 `toml:"max_user_clients"`
	// MessageMemoryMiB and ReplyMemoryMiB bound large messages that are being read, and large replies that wait to be read.
	MessageMemoryMiB int64 `toml:"message_memory_mib"`
	ReplyMemoryMiB   int64 `toml:"reply_memory_mib"`
}

// readSettings reads taproomd.toml; a file that is not there gives the defaults.
func readSettings(k *host.Kernel, p engine.Paths, id engine.Identity) (Settings, error) {
	s := Settings{
		Group:    defaultGroup,
		Emulator: "/usr/bin/qemu-system-x86_64",
		UIDFirst: int64(id.UIDFirst), UIDCount: 65_536,
		VNCPortFirst: 5900, VNCPortLast: 65_535,
		QEMUReadySeconds: 30,
		SaveImageFormat:  "raw", DumpImageFormat: "raw",
		OVSSocket: "/run/openvswitch/db.sock", OVSTimeoutSeconds: 5,
		HealLinks: true, HealFirewall: true, FirewallBackend: "auto", NFTOwnedTables: true, SystemBus: "/run/dbus/system_bus_socket",
		MaxClients: 5000, MaxUserClients: 100, MessageMemoryMiB: 64, ReplyMemoryMiB: 16,
	}
	path := filepath.Join(p.Config, "taproomd.toml")
	b, err := k.ReadFileLimit(path, 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	d := toml.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return s, fmt.Errorf("%s: %w", path, settingsError(err))
	}
	if err := s.check(); err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// settingsError says in an administrator's words what the decoder says of Go's types.
func settingsError(err error) error {
	var strict *toml.StrictMissingError
	var one *toml.DecodeError
	switch {
	case errors.As(err, &strict):
		var names []string
		for _, e := range strict.Errors {
			line, _ := e.Position()
			names = append(names, fmt.Sprintf("%s (line %d)", strings.Join(e.Key(), "."), line))
		}
		return fmt.Errorf("there are no settings %s; there are %s", strings.Join(names, ", "), strings.Join(settingNames(), ", "))
	case errors.As(err, &one):
		line, _ := one.Position()
		if len(one.Key()) == 0 {
			return fmt.Errorf("line %d: %s", line, strings.TrimPrefix(one.Error(), "toml: "))
		}
		return fmt.Errorf("line %d: %s has a value of a wrong kind", line, strings.Join(one.Key(), "."))
	}
	return err
}

// settingNames are the names of all settings.
func settingNames() []string {
	var names []string
	t := reflect.TypeFor[Settings]()
	for i := range t.NumField() {
		names = append(names, t.Field(i).Tag.Get("toml"))
	}
	return names
}

// check refuses what cannot be meant.
func (s Settings) check() error {
	switch last := s.UIDFirst + s.UIDCount - 1; {
	case s.UIDFirst <= 0 || s.UIDCount <= 0 || s.UIDFirst >= 1<<32 || s.UIDCount >= 1<<32 || last >= 1<<32-1:
		return fmt.Errorf("uid_first and uid_count: %d and %d are no range of users without root", s.UIDFirst, s.UIDCount)
	case s.UIDCount <= ownUsers:
		return fmt.Errorf("uid_count: %d users leave none for a guest; %d are the daemon's own", s.UIDCount, ownUsers)
	case s.VNCPortFirst < 5900 || s.VNCPortLast < s.VNCPortFirst || s.VNCPortLast > 65_535:
		return fmt.Errorf("vnc_port_first and vnc_port_last: %d to %d is no range of ports from 5900 up", s.VNCPortFirst, s.VNCPortLast)
	case s.QEMUReadySeconds < 1 || s.QEMUReadySeconds > 3600:
		return fmt.Errorf("qemu_ready_seconds: %d is not between 1 and 3600", s.QEMUReadySeconds)
	case s.OVSTimeoutSeconds < 1 || s.OVSTimeoutSeconds > 600:
		return fmt.Errorf("ovs_timeout_seconds: %d is not between 1 and 600", s.OVSTimeoutSeconds)
	case s.MaxClients < 10 || s.MaxClients > 1_000_000:
		return fmt.Errorf("max_clients: %d is not between 10 and 1000000", s.MaxClients)
	case s.MaxUserClients < 1 || s.MaxUserClients > 1_000_000:
		return fmt.Errorf("max_user_clients: %d is not between 1 and 1000000", s.MaxUserClients)
	case s.MessageMemoryMiB < 1 || s.MessageMemoryMiB > 65_536:
		return fmt.Errorf("message_memory_mib: %d is not between 1 and 65536", s.MessageMemoryMiB)
	case s.ReplyMemoryMiB < 1 || s.ReplyMemoryMiB > 65_536:
		return fmt.Errorf("reply_memory_mib: %d is not between 1 and 65536", s.ReplyMemoryMiB)
	case !filepath.IsAbs(s.OVSSocket):
		return fmt.Errorf("ovs_socket: %q is not an absolute path", s.OVSSocket)
	case !filepath.IsAbs(s.SystemBus):
		return fmt.Errorf("system_bus: %q is not an absolute path", s.SystemBus)
	case !filepath.IsAbs(s.Emulator):
		return fmt.Errorf("emulator: %q is not an absolute path", s.Emulator)
	}
	if err := engine.CheckFirewallBackend(s.FirewallBackend); err != nil {
		return fmt.Errorf("firewall_backend: %w", err)
	}
	for _, f := range []struct{ name, value string }{{"save_image_format", s.SaveImageFormat}, {"dump_image_format", s.DumpImageFormat}} {
		if err := engine.CheckImageFormat(f.value); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	if _, err := user.LookupGroup(s.Group); err != nil && s.Group != defaultGroup {
		return fmt.Errorf("group: there is no group %q; make it (groupadd --system %s), or name another one", s.Group, s.Group)
	}
	return nil
}

// limits returns the bounds on clients' connections and memory.
func (s Settings) limits() server.Limits {
	return server.Limits{
		Clients: int(s.MaxClients), UserClients: int(s.MaxUserClients),
		MessageBytes: s.MessageMemoryMiB << 20, ReplyBytes: s.ReplyMemoryMiB << 20,
	}
}

// ownUsers are those that the daemon takes for itself: one to ask emulators with, one for the network
// helper and one for what serves ports of the loopback.
const ownUsers = 3

// defaultGroup is libvirt's; a host that has no such group has nobody in it.
const defaultGroup = "libvirt"

// gid returns the number of the group, or -1 where the host has no such group. A session is its user's alone.
func (s Settings) gid(own *engine.Session) int {
	if own != nil {
		return -1
	}
	g, err := user.LookupGroup(s.Group)
	if err != nil {
		return -1
	}
	id, err := strconv.Atoi(g.Gid)
	if err != nil {
		return -1
	}
	return id
}
