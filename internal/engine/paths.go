package engine

import (
	"cmp"
	"path/filepath"
)

// Paths are the places the daemon keeps things in. All of them lie under one folder when the daemon has a root.
type Paths struct {
	Config     string // autostart documents and taproomd.toml
	Lib        string // desired state
	Run        string // what does not outlive a boot: sockets, records of running guests and networks
	LibvirtRun string // the sockets libvirt's clients look for
	LibvirtLib string // what libvirt's name service module reads
	Cache      string // what can be made again: capabilities of QEMU binaries
	Log        string // what guests' QEMUs say
	Hooks      string // the administrator's programs that are told of guests and networks; where libvirt has them
	LockFile   string // held by the daemon; "" is one in Run
}

// NewPaths returns the layout below root; "" or "/" is the machine itself.
func NewPaths(root string) Paths {
	if root == "" {
		root = "/"
	}
	return Paths{
		Config:     filepath.Join(root, "etc/taproom"),
		Lib:        filepath.Join(root, "var/lib/taproom"),
		Run:        filepath.Join(root, "run/taproom"),
		LibvirtRun: filepath.Join(root, "run/libvirt"),
		LibvirtLib: filepath.Join(root, "var/lib/libvirt"),
		Cache:      filepath.Join(root, "var/cache/taproom"),
		Log:        filepath.Join(root, "var/lib/taproom/log"),
		Hooks:      filepath.Join(root, "etc/libvirt/hooks"),
	}
}

// Domains is where definitions of guests lie, one file each.
func (p Paths) Domains() string { return filepath.Join(p.Lib, "domains") }

// Saves is where the state of guests lies that their domains keep themselves (managed save).
func (p Paths) Saves() string { return filepath.Join(p.Lib, "save") }

const saveSuffix = ".save"

// Save is the image of one domain.
func (p Paths) Save(uuid string) string { return filepath.Join(p.Saves(), uuid+saveSuffix) }

// Networks is where definitions of networks lie, one file each.
func (p Paths) Networks() string { return filepath.Join(p.Lib, "networks") }

// NVRAM is where the variables of guests' UEFI firmware lie, one file each.
func (p Paths) NVRAM() string { return filepath.Join(p.Lib, "nvram") }

// Pools is where definitions of storage pools lie, one file each.
func (p Paths) Pools() string { return filepath.Join(p.Lib, "pools") }

// ActivePools is where storage pools that are active have a file each.
func (p Paths) ActivePools() string { return filepath.Join(p.Run, "pools") }

// Leases is where the DHCP leases of networks lie, one file each.
func (p Paths) Leases() string { return filepath.Join(p.Lib, "leases") }

// Guests is where running guests have a directory each.
func (p Paths) Guests() string { return filepath.Join(p.Run, "guests") }

// Guest is the directory of one running guest.
func (p Paths) Guest(uuid string) string { return filepath.Join(p.Guests(), uuid) }

// TPMs is where the state of guests' TPMs lies, a directory each.
func (p Paths) TPMs() string { return filepath.Join(p.Lib, "swtpm") }

// Sysctls is where settings of the machine that were changed are written down, with what they were.
func (p Paths) Sysctls() string { return filepath.Join(p.Lib, "sysctls") }

// Repairs is where it is written down what was put among others' rules for networks.
func (p Paths) Repairs() string { return filepath.Join(p.Lib, "repairs") }

// Zones is where it is written down which bridges firewalld's permanent configuration has because of networks.
func (p Paths) Zones() string { return filepath.Join(p.Lib, "firewalld") }

// LANBridges is where bridges that were made of NICs have a file each.
func (p Paths) LANBridges() string { return filepath.Join(p.Lib, "bridges") }

// Records is where running guests have a file each.
func (p Paths) Records() string { return filepath.Join(p.Run, "records") }

// ActiveNetworks is where networks that should be up have a file each.
func (p Paths) ActiveNetworks() string { return filepath.Join(p.Run, "networks") }

// NetworkPorts is where ports of networks that clients made have a file each.
func (p Paths) NetworkPorts() string { return filepath.Join(p.Run, "ports") }

// NWFilters is where definitions of network filters lie, one file each.
func (p Paths) NWFilters() string { return filepath.Join(p.Lib, "nwfilters") }

// FilterBindings is where bindings of network filters that clients made have a file each.
func (p Paths) FilterBindings() string { return filepath.Join(p.Run, "filterbindings") }

// LearnedAddresses is where the addresses of filtered NICs have a file each that were learned.
func (p Paths) LearnedAddresses() string { return filepath.Join(p.Run, "learned") }

// GuestMemory is the folder of the file that a guest's memory is, where its document wants it in one.
func (p Paths) GuestMemory(uuid string) string { return filepath.Join(p.Lib, "ram", uuid) }

// Logs is where what a guest's QEMU says on stderr is kept.
func (p Paths) Logs() string { return p.Log }

// ControlSocket is the daemon's own socket; it speaks the same protocol as libvirt's.
func (p Paths) ControlSocket() string { return filepath.Join(p.Run, "taproom.sock") }

// Lock is held by the daemon from before it has its sockets until after it has let go of everything.
func (p Paths) Lock() string { return cmp.Or(p.LockFile, filepath.Join(p.Run, "lock")) }

// Helper is the directory of the process that answers DHCP.
func (p Paths) Helper() string { return filepath.Join(p.Run, "vnet") }

// Loopback is the directory of the process that serves ports of the loopback.
func (p Paths) Loopback() string { return filepath.Join(p.Run, "loopback") }

// Boot is where virt-install puts the kernels that guests are installed with.
func (p Paths) Boot() string { return filepath.Join(p.LibvirtLib, "boot") }

// GuestNames is where libnss_libvirt looks for the names and addresses of guests, two files for each bridge.
func (p Paths) GuestNames() string { return filepath.Join(p.LibvirtLib, "dnsmasq") }
