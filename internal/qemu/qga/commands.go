package qga

import (
	"context"
	"encoding/base64"
	"time"
)

// The types below are what an agent says of its guest (QEMU's qga/qapi-schema.json). Fields that an agent leaves out are
// zero; where that is a value of its own they are pointers.

// User is somebody who is logged in.
type User struct {
	Name   string  `json:"user"`
	Domain string  `json:"domain"`
	Login  float64 `json:"login-time"` // seconds since 1970
}

// OSInfo is the guest's operating system.
type OSInfo struct {
	ID            string `json:"id"`
	Name          string `json:"name"`
	PrettyName    string `json:"pretty-name"`
	Version       string `json:"version"`
	VersionID     string `json:"version-id"`
	Machine       string `json:"machine"`
	Variant       string `json:"variant"`
	VariantID     string `json:"variant-id"`
	KernelRelease string `json:"kernel-release"`
	KernelVersion string `json:"kernel-version"`
}

// Timezone is the guest's; Offset is in seconds east of UTC.
type Timezone struct {
	Zone   string `json:"zone"`
	Offset int32  `json:"offset"`
}

// PCIAddress is where a controller is in the guest; every part is -1 when the guest cannot tell.
type PCIAddress struct {
	Domain   int `json:"domain"`
	Bus      int `json:"bus"`
	Slot     int `json:"slot"`
	Function int `json:"function"`
}

// DiskAddress is where a disk is in the guest.
type DiskAddress struct {
	PCI    PCIAddress `json:"pci-controller"`
	Type   string     `json:"bus-type"` // scsi, ide, virtio, sata, …
	Bus    int        `json:"bus"`
	Target int        `json:"target"`
	Unit   int        `json:"unit"`
	Serial string     `json:"serial"`
	Device string     `json:"dev"` // /dev/vda
}

// Filesystem is one that is mounted. Sizes are in bytes.
type Filesystem struct {
	Name       string        `json:"name"` // vda1
	Mountpoint string        `json:"mountpoint"`
	Type       string        `json:"type"`
	Used       *uint64       `json:"used-bytes"`
	Total      *uint64       `json:"total-bytes"`
	Disks      []DiskAddress `json:"disk"`
}

// Disk is a block device of the guest, or a partition of one.
type Disk struct {
	Name         string       `json:"name"` // /dev/vda
	Partition    bool         `json:"partition"`
	Dependencies []string     `json:"dependencies"`
	Address      *DiskAddress `json:"address"`
	Alias        string       `json:"alias"`
}

// Interface is a network interface of the guest.
type Interface struct {
	Name      string `json:"name"`
	MAC       string `json:"hardware-address"`
	Addresses []struct {
		Type   string `json:"ip-address-type"` // ipv4, ipv6
		Addr   string `json:"ip-address"`
		Prefix uint32 `json:"prefix"`
	} `json:"ip-addresses"`
}

// VCPU is a processor of the guest.
type VCPU struct {
	ID         int64 `json:"logical-id"`
	Online     bool  `json:"online"`
	CanOffline bool  `json:"can-offline,omitempty"`
}

// Load is how many processes ran or waited, on average.
type Load struct {
	One     float64 `json:"load1m"`
	Five    float64 `json:"load5m"`
	Fifteen float64 `json:"load15m"`
}

// get runs a command without arguments.
func get[T any](ctx context.Context, c *Client, command string) (out T, err error) {
	err = c.Execute(ctx, command, nil, &out)
	return out, err
}

// Users are those who are logged in.
func (c *Client) Users(ctx context.Context) ([]User, error) {
	return get[[]User](ctx, c, "guest-get-users")
}

// OSInfo says what runs in the guest.
func (c *Client) OSInfo(ctx context.Context) (OSInfo, error) {
	return get[OSInfo](ctx, c, "guest-get-osinfo")
}

// Timezone says where the guest takes itself to be.
func (c *Client) Timezone(ctx context.Context) (Timezone, error) {
	return get[Timezone](ctx, c, "guest-get-timezone")
}

// Hostname is what the guest calls itself.
func (c *Client) Hostname(ctx context.Context) (string, error) {
	out, err := get[struct {
		Name string `json:"host-name"`
	}](ctx, c, "guest-get-host-name")
	return out.Name, err
}

// Filesystems are those that are mounted.
func (c *Client) Filesystems(ctx context.Context) ([]Filesystem, error) {
	return get[[]Filesystem](ctx, c, "guest-get-fsinfo")
}

// Disks are the guest's block devices.
func (c *Client) Disks(ctx context.Context) ([]Disk, error) {
	return get[[]Disk](ctx, c, "guest-get-disks")
}

// Interfaces are the guest's network interfaces.
func (c *Client) Interfaces(ctx context.Context) ([]Interface, error) {
	return get[[]Interface](ctx, c, "guest-network-get-interfaces")
}

// Load is how busy the guest is.
func (c *Client) Load(ctx context.Context) (Load, error) { return get[Load](ctx, c, "guest-get-load") }

// VCPUs are the guest's processors.
func (c *Client) VCPUs(ctx context.Context) ([]VCPU, error) {
	return get[[]VCPU](ctx, c, "guest-get-vcpus")
}

// SetVCPUs takes processors into use, or out of it, and returns how many of them the guest dealt with: it stops at the first
// that fails.
func (c *Client) SetVCPUs(ctx context.Context, cpus []VCPU) (done int, err error) {
	set := make([]map[string]any, len(cpus))
	for i, cpu := range cpus {
		set[i] = map[string]any{"logical-id": cpu.ID, "online": cpu.Online}
	}
	err = c.Execute(ctx, "guest-set-vcpus", map[string]any{"vcpus": set}, &done)
	return done, err
}

// Freeze freezes the file systems mounted at the points, or all of them, and returns how many.
func (c *Client) Freeze(ctx context.Context, mountpoints []string) (n int32, err error) {
	if len(mountpoints) == 0 {
		return get[int32](ctx, c, "guest-fsfreeze-freeze")
	}
	err = c.Execute(ctx, "guest-fsfreeze-freeze-list", map[string]any{"mountpoints": mountpoints}, &n)
	return n, err
}

// Thaw thaws every file system, and returns how many were frozen.
func (c *Client) Thaw(ctx context.Context) (int32, error) {
	return get[int32](ctx, c, "guest-fsfreeze-thaw")
}

// Trim gives unused blocks back, in runs of at least so many bytes.
func (c *Client) Trim(ctx context.Context, minimum uint64) error {
	return c.Execute(ctx, "guest-fstrim", map[string]uint64{"minimum": minimum}, nil)
}

// Time is what the guest's clock shows.
func (c *Client) Time(ctx context.Context) (time.Time, error) {
	ns, err := get[int64](ctx, c, "guest-get-time")
	return time.Unix(0, ns), err
}

// SetTime sets the guest's clock, or with the zero time has the guest read its hardware clock.
func (c *Client) SetTime(ctx context.Context, to time.Time) error {
	if to.IsZero() {
		return c.Execute(ctx, "guest-set-time", nil, nil)
	}
	return c.Execute(ctx, "guest-set-time", map[string]int64{"time": to.UnixNano()}, nil)
}

// SetPassword sets the password of a user of the guest; encrypted is one as its /etc/shadow has it.
func (c *Client) SetPassword(ctx context.Context, user, password string, encrypted bool) error {
	return c.Execute(ctx, "guest-set-user-password", map[string]any{
		"username": user, "password": base64.StdEncoding.EncodeToString([]byte(password)), "crypted": encrypted,
	}, nil)
}

// SSHKeys are the keys that open a user's account.
func (c *Client) SSHKeys(ctx context.Context, user string) ([]string, error) {
	var out struct {
		Keys []string `json:"keys"`
	}
	err := c.Execute(ctx, "guest-ssh-get-authorized-keys", map[string]string{"username": user}, &out)
	return out.Keys, err
}

// AddSSHKeys adds keys to a user's, or with reset puts them in their place.
func (c *Client) AddSSHKeys(ctx context.Context, user string, keys []string, reset bool) error {
	return c.Execute(ctx, "guest-ssh-add-authorized-keys", map[string]any{"username": user, "keys": keys, "reset": reset}, nil)
}

// RemoveSSHKeys takes keys from a user's.
func (c *Client) RemoveSSHKeys(ctx context.Context, user string, keys []string) error {
	return c.Execute(ctx, "guest-ssh-remove-authorized-keys", map[string]any{"username": user, "keys": keys}, nil)
}

// Shutdown modes.
const (
	PowerDown = "powerdown"
	Reboot    = "reboot"
)

// Ways to sleep.
const (
	SuspendRAM    = "ram"
	SuspendDisk   = "disk"
	SuspendHybrid = "hybrid"
)

// Suspend has the guest sleep. An agent answers only when it cannot.
func (c *Client) Suspend(ctx context.Context, mode string) error {
	return c.Execute(ctx, "guest-suspend-"+mode, nil, nil)
}

// Shutdown has the guest shut down. An agent answers only when it cannot; that the channel closes is how it succeeds.
func (c *Client) Shutdown(ctx context.Context, mode string) error {
	return c.Execute(ctx, "guest-shutdown", map[string]string{"mode": mode}, nil)
}
