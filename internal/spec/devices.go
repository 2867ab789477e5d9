package spec

// Devices is <devices>. Kinds this package has no type for stay in Extra, in order.
type Devices struct {
	Emulator    string         `xml:"emulator,omitempty"`
	Disks       []Disk         `xml:"disk"`
	Controllers []Controller   `xml:"controller"`
	Filesystems []Filesystem   `xml:"filesystem"`
	Interfaces  []Interface    `xml:"interface"`
	Smartcards  []Smartcard    `xml:"smartcard"`
	Serials     []Chardev      `xml:"serial"`
	Parallels   []Chardev      `xml:"parallel"`
	Consoles    []Chardev      `xml:"console"`
	Channels    []Chardev      `xml:"channel"`
	Inputs      []Input        `xml:"input"`
	TPMs        []TPM          `xml:"tpm"`
	Graphics    []Graphics     `xml:"graphics"`
	Sounds      []Sound        `xml:"sound"`
	Audios      []Audio        `xml:"audio"`
	Videos      []Video        `xml:"video"`
	RedirDevs   []RedirDev     `xml:"redirdev"`
	RedirFilter *RedirFilter   `xml:"redirfilter"`
	Hubs        []Hub          `xml:"hub"`
	Watchdogs   []Watchdog     `xml:"watchdog"`
	MemBalloon  *MemBalloon    `xml:"memballoon"`
	RNGs        []RNG          `xml:"rng"`
	Panics      []Panic        `xml:"panic"`
	Memories    []MemoryDevice `xml:"memory"`
	Vsock       *Vsock         `xml:"vsock"`
	Extra
}

// Address is a device's place; Type is pci, drive, virtio-serial, usb, isa, unassigned. Numbers keep their text form.
type Address struct {
	Type          string `xml:"type,attr"`
	Domain        string `xml:"domain,attr,omitempty"`
	Controller    string `xml:"controller,attr,omitempty"`
	Bus           string `xml:"bus,attr,omitempty"`
	Slot          string `xml:"slot,attr,omitempty"`
	Function      string `xml:"function,attr,omitempty"`
	Target        string `xml:"target,attr,omitempty"`
	Unit          string `xml:"unit,attr,omitempty"`
	Port          string `xml:"port,attr,omitempty"`
	MultiFunction string `xml:"multifunction,attr,omitempty"`
	Base          string `xml:"base,attr,omitempty"` // of a memory module: its first address in the guest
	Extra
}

// Alias is the device's id in QEMU; names starting with ua- are the user's.
type Alias struct {
	Name string `xml:"name,attr"`
	Extra
}

// Boot is the device's place in the boot order, from 1.
type Boot struct {
	Order    string `xml:"order,attr"`
	LoadParm string `xml:"loadparm,attr,omitempty"`
	Extra
}

// Disk is a block device.
type Disk struct {
	Type         string        `xml:"type,attr,omitempty"`   // file or block
	Device       string        `xml:"device,attr,omitempty"` // disk, cdrom, floppy, lun
	Snapshot     string        `xml:"snapshot,attr,omitempty"`
	Driver       *DiskDriver   `xml:"driver"`
	Source       *DiskSource   `xml:"source"`
	BackingStore *BackingStore `xml:"backingStore"`
	Geometry     *DiskGeometry `xml:"geometry"`
	BlockIO      *BlockIO      `xml:"blockio"`
	Target       DiskTarget    `xml:"target"`
	IOTune       *IOTune       `xml:"iotune"`
	ReadOnly     *State        `xml:"readonly"`
	Shareable    *State        `xml:"shareable"`
	Transient    *State        `xml:"transient"`
	Serial       string        `xml:"serial,omitempty"`
	WWN          string        `xml:"wwn,omitempty"`
	Vendor       string        `xml:"vendor,omitempty"`
	Product      string        `xml:"product,omitempty"`
	Boot         *Boot         `xml:"boot"`
	Alias        *Alias        `xml:"alias"`
	Address      *Address      `xml:"address"`
	Extra
}

// DiskDriver is the image format and how it is cached.
type DiskDriver struct {
	Name         string `xml:"name,attr,omitempty"`
	Type         string `xml:"type,attr,omitempty"` // raw, qcow2
	Cache        string `xml:"cache,attr,omitempty"`
	ErrorPolicy  string `xml:"error_policy,attr,omitempty"`
	RErrorPolicy string `xml:"rerror_policy,attr,omitempty"`
	IO           string `xml:"io,attr,omitempty"` // threads, native, io_uring
	CopyOnRead   string `xml:"copy_on_read,attr,omitempty"`
	Discard      string `xml:"discard,attr,omitempty"`
	IOThread     string `xml:"iothread,attr,omitempty"`
	DetectZeroes string `xml:"detect_zeroes,attr,omitempty"`
	Queues       string `xml:"queues,attr,omitempty"`
	QueueSize    string `xml:"queue_size,attr,omitempty"`
	Extra
}

// DiskSource is a path: File for type file, Dev for type block; or what a server has, for type network.
type DiskSource struct {
	File          string         `xml:"file,attr,omitempty"`
	Dev           string         `xml:"dev,attr,omitempty"`
	Protocol      string         `xml:"protocol,attr,omitempty"`
	Name          string         `xml:"name,attr,omitempty"`
	Query         string         `xml:"query,attr,omitempty"`
	TLS           string         `xml:"tls,attr,omitempty"`
	StartupPolicy string         `xml:"startupPolicy,attr,omitempty"`
	Index         string         `xml:"index,attr,omitempty"`
	Hosts         []SourceHost   `xml:"host"`
	SSL           *SourceSSL     `xml:"ssl"`
	Readahead     *Readahead     `xml:"readahead"`
	Timeout       *SourceTimeout `xml:"timeout"`
	SecLabels     []SecLabel     `xml:"seclabel"`
	Extra
}

// BackingStore is a declared backing chain; an empty one ends the chain.
type BackingStore struct {
	Type         string         `xml:"type,attr,omitempty"`
	Index        string         `xml:"index,attr,omitempty"`
	Format       *BackingFormat `xml:"format"`
	Source       *DiskSource    `xml:"source"`
	BackingStore *BackingStore  `xml:"backingStore"`
	Extra
}

// BackingFormat is the declared format of a backing image.
type BackingFormat struct {
	Type string `xml:"type,attr"`
	Extra
}

// DiskTarget is the bus and the name hint (vda, sda, hda).
type DiskTarget struct {
	Dev          string `xml:"dev,attr"`
	Bus          string `xml:"bus,attr,omitempty"` // virtio, scsi, sata, ide, fdc, usb
	Tray         string `xml:"tray,attr,omitempty"`
	RotationRate string `xml:"rotation_rate,attr,omitempty"`
	Extra
}

// Controller is a bus controller.
type Controller struct {
	Type     string            `xml:"type,attr"` // pci, usb, ide, sata, scsi, virtio-serial, fdc
	Index    string            `xml:"index,attr,omitempty"`
	Model    string            `xml:"model,attr,omitempty"`
	Ports    string            `xml:"ports,attr,omitempty"`
	Vectors  string            `xml:"vectors,attr,omitempty"`
	Driver   *Element          `xml:"driver"`
	PCIModel *PCIModel         `xml:"model"`
	Target   *ControllerTarget `xml:"target"`
	Master   *Element          `xml:"master"`
	Alias    *Alias            `xml:"alias"`
	Address  *Address          `xml:"address"`
	Extra
}

// PCIModel is <model name='pcie-root-port'/>, QEMU's device behind a PCI controller.
type PCIModel struct {
	Name string `xml:"name,attr"`
	Extra
}

// ControllerTarget is a PCIe port's chassis and port number.
type ControllerTarget struct {
	Chassis   string `xml:"chassis,attr,omitempty"`
	Port      string `xml:"port,attr,omitempty"`
	ChassisNr string `xml:"chassisNr,attr,omitempty"`
	BusNr     string `xml:"busNr,attr,omitempty"`
	Hotplug   string `xml:"hotplug,attr,omitempty"`
	Extra
}

// Interface is a NIC.
type Interface struct {
	Type        string           `xml:"type,attr"` // network, bridge, direct, user, ethernet, server, client, mcast, udp; others are refused by name
	TrustRx     string           `xml:"trustGuestRxFilters,attr,omitempty"`
	MAC         *MAC             `xml:"mac"`
	Source      *InterfaceSource `xml:"source"`
	IPs         []NICAddress     `xml:"ip"`
	Forwards    []PortForward    `xml:"portForward"`
	VLAN        *NICVLAN         `xml:"vlan"`
	VirtualPort *VirtualPort     `xml:"virtualport"`
	Bandwidth   *Bandwidth       `xml:"bandwidth"`
	Target      *InterfaceTarget `xml:"target"`
	Model       *InterfaceModel  `xml:"model"`
	Driver      *NICDriver       `xml:"driver"`
	Backend     *NICBackend      `xml:"backend"`
	FilterRef   *FilterRef       `xml:"filterref"`
	Link        *LinkState       `xml:"link"`
	MTU         *MTU             `xml:"mtu"`
	Coalesce    *Coalesce        `xml:"coalesce"`
	Tune        *NICTune         `xml:"tune"`
	Port        *BridgePort      `xml:"port"`
	Teaming     *Teaming         `xml:"teaming"`
	ROM         *ROM             `xml:"rom"`
	Boot        *Boot            `xml:"boot"`
	Alias       *Alias           `xml:"alias"`
	Address     *Address         `xml:"address"`
	Extra
}

// MAC is an Ethernet address.
type MAC struct {
	Address string `xml:"address,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Check   string `xml:"check,attr,omitempty"`
	Extra
}

// InterfaceSource names a network or a bridge. PortID and Bridge (for a network) appear in live documents.
type InterfaceSource struct {
	Network   string `xml:"network,attr,omitempty"`
	PortGroup string `xml:"portgroup,attr,omitempty"`
	PortID    string `xml:"portid,attr,omitempty"`
	Bridge    string `xml:"bridge,attr,omitempty"`
	Dev       string `xml:"dev,attr,omitempty"`
	Mode      string `xml:"mode,attr,omitempty"`
	// Address and Port are where a socket listens or leads, Local where a UDP tunnel begins.
	Address string         `xml:"address,attr,omitempty"`
	Port    string         `xml:"port,attr,omitempty"`
	Local   *SocketAddress `xml:"local"`
	Extra
}

// InterfaceTarget is the host-side name, as wished or as it is.
type InterfaceTarget struct {
	Dev     string `xml:"dev,attr"`
	Managed string `xml:"managed,attr,omitempty"` // no: the link is there already, and stays
	Extra
}

// InterfaceModel is the emulated card: virtio, e1000, e1000e, rtl8139.
type InterfaceModel struct {
	Type string `xml:"type,attr"`
	Extra
}

// LinkState is up or down.
type LinkState struct {
	State string `xml:"state,attr"`
	Extra
}

// MTU is in bytes.
type MTU struct {
	Size string `xml:"size,attr"`
	Extra
}

// Input is a keyboard, mouse or tablet on a bus.
type Input struct {
	Type    string   `xml:"type,attr"`
	Bus     string   `xml:"bus,attr,omitempty"` // ps2, usb, virtio
	Model   string   `xml:"model,attr,omitempty"`
	Alias   *Alias   `xml:"alias"`
	Address *Address `xml:"address"`
	Extra
}

// Video is a graphics card.
type Video struct {
	Model   VideoModel `xml:"model"`
	Driver  *Element   `xml:"driver"`
	Alias   *Alias     `xml:"alias"`
	Address *Address   `xml:"address"`
	Extra
}

// VideoModel is the card: vga, cirrus, virtio, bochs, qxl, ramfb or none. RAM, VRAM, VRAM64 and VGAMem are in KiB.
type VideoModel struct {
	Type       string      `xml:"type,attr"`
	RAM        string      `xml:"ram,attr,omitempty"`
	VRAM       string      `xml:"vram,attr,omitempty"`
	VRAM64     string      `xml:"vram64,attr,omitempty"`
	VGAMem     string      `xml:"vgamem,attr,omitempty"`
	Heads      string      `xml:"heads,attr,omitempty"`
	Primary    string      `xml:"primary,attr,omitempty"`
	Accel      *Element    `xml:"acceleration"`
	Resolution *Resolution `xml:"resolution"`
	Extra
}

// Resolution is what a card begins with, in pixels.
type Resolution struct {
	X string `xml:"x,attr"`
	Y string `xml:"y,attr"`
	Extra
}

// Watchdog is i6300esb, ib700 or itco; Action reset, shutdown, poweroff, pause, none, dump, inject-nmi.
type Watchdog struct {
	Model   string   `xml:"model,attr"`
	Action  string   `xml:"action,attr,omitempty"`
	Alias   *Alias   `xml:"alias"`
	Address *Address `xml:"address"`
	Extra
}

// MemBalloon is virtio, virtio-transitional, virtio-non-transitional or none.
type MemBalloon struct {
	Model             string        `xml:"model,attr"`
	AutoDeflate       string        `xml:"autodeflate,attr,omitempty"`
	FreePageReporting string        `xml:"freePageReporting,attr,omitempty"`
	Stats             *BalloonStats `xml:"stats"`
	Driver            *Element      `xml:"driver"`
	Alias             *Alias        `xml:"alias"`
	Address           *Address      `xml:"address"`
	Extra
}

// BalloonStats is the polling period in seconds.
type BalloonStats struct {
	Period string `xml:"period,attr"`
	Extra
}

// RNG feeds the guest's random pool.
type RNG struct {
	Model   string     `xml:"model,attr"`
	Driver  *Element   `xml:"driver"`
	Rate    *RNGRate   `xml:"rate"`
	Backend RNGBackend `xml:"backend"`
	Alias   *Alias     `xml:"alias"`
	Address *Address   `xml:"address"`
	Extra
}

// RNGRate limits: Bytes per Period milliseconds.
type RNGRate struct {
	Bytes  string `xml:"bytes,attr"`
	Period string `xml:"period,attr,omitempty"`
	Extra
}

// RNGBackend is random (a file, in Path) or builtin.
type RNGBackend struct {
	Model string `xml:"model,attr"`
	Path  string `xml:",chardata"`
	Extra
}

// Panic is the panic notifier: isa, pvpanic, hyperv.
type Panic struct {
	Model   string   `xml:"model,attr,omitempty"`
	Alias   *Alias   `xml:"alias"`
	Address *Address `xml:"address"`
	Extra
}
