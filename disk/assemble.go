package disk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Key opens an encrypted device.
type Key struct {
	Device string // a name as Filesystem has it, or the UUID of the encrypted device; "": any
	Secret []byte // a passphrase, or what is in a key file
}

// Assembly says how Assemble goes about it.
type Assembly struct {
	Keys []Key
	// Write makes devices that can be written to. Without, they are read-only, and arrays that have to be synchronized stay as they are.
	Write bool
}

// Assemble puts together what lies on several devices or below others: arrays of md, encrypted devices that one of the keys opens, and
// volume groups, until nothing is left that was not there before. Filesystems lists what came of it. It takes the tools. An encrypted device that no
// key opens, and what lacks a member that it cannot do without, stays as it is and is no error.
func (a *Appliance) Assemble(ctx context.Context, s Assembly) error {
	tried := map[string]bool{}
	for range 8 { // one on the other; who made more did so to keep us busy
		list, err := a.devices(ctx)
		if err != nil {
			return err
		}
		before := len(list)
		lying := func(kind string) []device {
			return slices.DeleteFunc(slices.Clone(list), func(d device) bool { return d.Type != kind || d.assembled || tried[d.name] })
		}
		if members := lying("linux_raid_member"); len(members) > 0 {
			if err := a.assembleArrays(ctx, members, s.Write); err != nil {
				return err
			}
			mark(tried, members)
		}
		for _, d := range lying("crypto_LUKS") {
			tried[d.name] = true
			if err := a.unlock(ctx, d, s); err != nil {
				return err
			}
		}
		if volumes := lying("LVM2_member"); len(volumes) > 0 {
			if err := a.activate(ctx, s.Write); err != nil {
				return err
			}
			mark(tried, volumes)
		}
		if list, err = a.devices(ctx); err != nil || len(list) == before {
			return err
		}
	}
	return nil
}

func mark(tried map[string]bool, list []device) {
	for _, d := range list {
		tried[d.name] = true
	}
}

// assembleArrays has mdadm look at all members. Its status says no more than that something was not started.
func (a *Appliance) assembleArrays(ctx context.Context, members []device, write bool) error {
	config := "DEVICE"
	for _, d := range members {
		config += " /dev/" + d.name
	}
	args := []string{"mdadm", "--assemble", "--scan", "--run", "--no-degraded=no", "--config=/dev/stdin"}
	args = slices.DeleteFunc(args, func(s string) bool { return s == "--no-degraded=no" })
	if !write {
		args = append(args, "--readonly")
	}
	err := a.tool(ctx, "", strings.NewReader(config+"\n"), io.Discard, args...)
	return unlessFailed(err)
}

// unlessFailed is the error of a program that could not be run, and none where it ran.
func unlessFailed(err error) error {
	var failed *ExitError
	if errors.As(err, &failed) {
		return nil
	}
	return err
}

// unlock opens an encrypted device with the first key that fits.
func (a *Appliance) unlock(ctx context.Context, d device, s Assembly) error {
	for _, k := range s.Keys {
		if k.Device != "" && k.Device != d.name && k.Device != d.UUID {
			continue
		}
		args := []string{"cryptsetup", "open", "--type", "luks", "--key-file", "-", "--disable-keyring"}
		if !s.Write {
			args = append(args, "--readonly")
		}
		name := "luks-" + d.UUID
		if d.UUID == "" {
			name = "luks-" + d.Name
		}
		var failed *ExitError
		err := a.tool(ctx, "", bytes.NewReader(k.Secret), io.Discard, append(args, "/dev/"+d.name, name)...)
		if err == nil {
			return nil
		}
		const noPermission = 2 // cryptsetup(8): the key does not fit
		if !errors.As(err, &failed) {
			return err
		}
		if failed.Status != noPermission {
			return fmt.Errorf("open the encrypted device %s: %w", d.name, err)
		}
	}
	return nil
}

// lvmConfig is LVM's where there is no udev, and no file that it may write to.
const lvmConfig = `activation { udev_sync=0 udev_rules=0 monitoring=0 verify_udev_operations=0 } ` +
	`global { locking_type=1 use_lvmpolld=0 locking_dir="/run" } backup { backup=0 archive=0 } devices { use_devicesfile=0 write_cache_state=0 }`

// activate has LVM make devices of its volumes. There is no udev to do it, and no file that it may write to.
func (a *Appliance) activate(ctx context.Context, write bool) error {
	args := []string{"vgchange", "--config", lvmConfig, "--activate", "y", "--ignoreactivationskip", "--activationmode", "partial"}
	if !write {
		args[2] = lvmConfig + ` global { locking_type=1 metadata_read_only=1 } activation { read_only_volume_list=["@*"] }`
	}
	return unlessFailed(a.tool(ctx, "", nil, io.Discard, args...))
}
