package inspect

// System is what a tree says of the operating system in it. What is not known is empty.
type System struct {
	OS           string       `json:"os"`                     // "linux", "freebsd" or "windows"
	Distribution string       `json:"distribution,omitempty"` // ID of os-release(5), such as "debian"; "windows" and "freebsd" for these
	Like         []string     `json:"like,omitempty"`         // ID_LIKE of os-release(5): what it descends from
	Name         string       `json:"name,omitempty"`         // for people: PRETTY_NAME of os-release(5), ProductName of Windows
	Version      string       `json:"version,omitempty"`      // VERSION_ID of os-release(5); of Windows 10.0.BUILD, of FreeBSD 14.1-RELEASE
	Codename     string       `json:"codename,omitempty"`     // VERSION_CODENAME of os-release(5); DisplayVersion of Windows, such as 22H2
	Arch         string       `json:"arch,omitempty"`         // as uname -m says it: x86_64, aarch64
	Hostname     string       `json:"hostname,omitempty"`
	Init         string       `json:"init,omitempty"`         // "systemd", "openrc", "sysvinit", "busybox", "runit", "s6", "dinit", "upstart" or "rc"
	Packaging    string       `json:"packaging,omitempty"`    // "dpkg", "rpm", "apk", "pacman", "nix", "pkg" or "windows"
	Packages     []Package    `json:"packages,omitempty"`     // that are installed, by name
	Mounts       []MountPoint `json:"mounts,omitempty"`       // that it mounts at its start, in the order of its fstab
	BootLoaders  []BootLoader `json:"boot_loaders,omitempty"` // whose files are there
	Kernels      []Kernel     `json:"kernels,omitempty"`      // by version
	Default      string       `json:"default_unit,omitempty"` // of systemd, such as graphical.target
	TimeZone     string       `json:"time_zone,omitempty"`    // such as Europe/Berlin
	MachineID    string       `json:"machine_id,omitempty"`   // machine-id(5)
	Problems     []Problem    `json:"problems,omitempty"`     // what could not be read, and why
}

// Package is one that is installed.
type Package struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"` // as its kind of packages writes it, [epoch:]version[-release]
	Arch    string `json:"arch,omitempty"`    // as its kind of packages names it; "" where the database does not say
}

// MountPoint is a line of fstab(5), or a drive letter of Windows.
type MountPoint struct {
	Device  string `json:"device"` // as it is written there: UUID=…, LABEL=…, a path
	At      string `json:"at"`
	Type    string `json:"type,omitempty"`
	Options string `json:"options,omitempty"`
}

// BootLoader is one whose files are in the tree. That the firmware starts it is not said by that.
type BootLoader struct {
	Name string `json:"name"` // "grub", "systemd-boot", "syslinux", "extlinux", "limine", "u-boot", "lilo", "zipl", "freebsd" or "windows"
	Path string `json:"path"` // of its configuration, or of itself
}

// Kernel is one that the system can boot, or has the modules of.
type Kernel struct {
	Version   string `json:"version"`
	Image     string `json:"image,omitempty"`
	Initramfs string `json:"initramfs,omitempty"`
	Modules   string `json:"modules,omitempty"` // folder
}

// Problem is something that could not be read, or makes no sense.
type Problem struct {
	Path string `json:"path"`
	What string `json:"what"`
}

// Options say what is left out.
type Options struct {
	// NoPackages leaves out the packages, which take most of the time.
	NoPackages bool
}
