package disk_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taproom/disk"
	"taproom/disk/disktest"
)

const (
	gptLast = `image 96M; printf 'label: gpt\nsize=16M\n,\n' | sfdisk -q $I; truncate -s 16M esp; mkfs.vfat esp >/dev/null
truncate -s 70M root; mkdir t; tree t; mkfs.ext4 -q -d t root; part 1 esp; part 2 root`
	mbrLast = `image 96M; printf 'label: dos\nsize=16M\n,\n' | sfdisk -q $I; truncate -s 70M root; mkfs.ext3 -q root; part 2 root`
)

// secondOfBtrfs leaves a btrfs on its second device alone.
const secondOfBtrfs = `mkfs.btrfs -q $P1; mkdir -p /tmp/m; mount $P1 /tmp/m; btrfs device add -f ${D}2 /tmp/m >/dev/null; btrfs device remove $P1 /tmp/m; umount /tmp/m`

// Every layout that grows is used to its new end, and what cannot grow is refused before anything is written.
func TestResize_GrowsPartitionsVolumesAndFileSystems(t *testing.T) {
	t.Parallel()
	needsTools(t)
	for name, c := range map[string]struct {
		script, device, fails string
		size                  int64
		inside                string
	}{
		"ext4":    {script: "image 32M; mkfs.ext4 -q $I"},
		"xfs":     {script: "image 320M; mkfs.xfs -q $I", size: 640 << 20},
		"btrfs":   {script: "image 128M; mkfs.btrfs -q $I"},
		"ntfs":    {script: "image 32M; mkfs.ntfs -F -q $I"},
		"devid":   {script: `image 350M; printf 'label: gpt\nsize=150M\n,\n' | sfdisk -q $I`, size: 700 << 20, inside: secondOfBtrfs},
		"dirty":   {script: "image 16M; mkfs.ntfs -F -q $I; truncate -s 32M $I; echo y | ntfsresize $I", fails: "have Windows check it"},
		"gpt":     {script: gptLast},
		"mbr":     {script: mbrLast},
		"qcow2":   {script: gptLast + "; qemu-img convert -O qcow2 image image.qcow2; mv image.qcow2 image"},
		"lvm":     {script: `image 96M; printf 'label: gpt\n,\n' | sfdisk -q $I`, inside: "pvcreate -q $P1; vgcreate -q vg $P1; lvcreate -y -q -l 80%FREE -n root vg; mkfs.ext4 -q /dev/mapper/vg-root"},
		"vfat":    {script: "image 32M; mkfs.vfat $I >/dev/null", fails: `no program that makes "vfat" larger`},
		"shrink":  {script: "image 32M; mkfs.ext4 -q $I", size: 16 << 20, fails: "images are not made smaller"},
		"follows": {script: gptLast, device: "1", fails: "follows it; name the last partition"},
		"swap":    {script: "image 32M; mkswap -q $I", fails: "no program that makes"},
		"logical": {script: `image 96M; printf 'label: dos\n,,E\n,\n' | sfdisk -q $I; truncate -s 70M r; mkfs.ext4 -q r; part 5 r`, fails: "extended partition"},
	} {
		t.Run(name, func(t *testing.T) {
			image := disktest.Make(t, c.script)
			format := "raw"
			if name == "qcow2" {
				format = name
			}
			if c.inside != "" {
				inAppliance(t, image, c.inside)
			}
			disktest.Script(t, filepath.Dir(image), "cp image before")
			a, err := disk.Launch(t.Context(), disk.Spec{Memory: 384, CacheDir: cacheDir(), Images: []disk.Image{{Path: image, Format: format, Access: disk.Atomic}}})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = a.Close(context.WithoutCancel(t.Context())) }()
			if err := a.Assemble(t.Context(), disk.Assembly{Write: true}); err != nil {
				t.Fatal(err)
			}
			size := max(c.size, 256<<20)
			if name == "shrink" {
				size = c.size
			}
			device := c.device
			if device != "" {
				device = a.Disks()[0].Name + device
			}
			r, err := a.Resize(t.Context(), disk.ResizeOptions{Size: size, Device: device})
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("got %v, want %q", err, c.fails)
				}
				if name == "shrink" && !errors.Is(err, disk.ErrShrink) {
					t.Errorf("%v", err)
				}
				if err := a.Commit(t.Context()); err != nil || sum(t, image) != sum(t, filepath.Join(filepath.Dir(image), "before")) {
					t.Errorf("what was refused has changed the image (%v)", err)
				}
				return
			}
			if err != nil {
				t.Fatalf("%v; %+v", err, r)
			}
			list, err := a.Filesystems(t.Context(), disk.LookOptions{Usage: true})
			last := list[len(list)-1]
			seen := last.Problem == "" && last.Total >= size*3/4 || name == "ntfs" // which not every kernel mounts
			if err != nil || last.Device != r.Device || !seen {
				t.Errorf("%+v, %v; %+v", last, err, r)
			}
			again, err := a.Resize(t.Context(), disk.ResizeOptions{Size: size, Device: device})
			if err != nil {
				t.Errorf("a second time: %v; %+v", err, again)
			}
			f, err := a.Fsck(t.Context(), last.Device, false)
			if err != nil || !f.Clean {
				t.Errorf("%+v, %v", f, err)
			}
			if d := a.Disks()[0]; d.Size != size || r.Steps[0] != "image" {
				t.Errorf("the disk has %d bytes; steps %q", d.Size, r.Steps)
			}
			if err := a.Commit(t.Context()); err != nil {
				t.Error(err)
			}
			if i, err := os.Stat(image); err != nil || format == "raw" && i.Size() != size {
				t.Errorf("%v, %v", i, err)
			}
		})
	}
}

// inAppliance runs a script of the tools on an image: $P1 is its first partition, $D the disk.
func inAppliance(t *testing.T, image, script string) {
	t.Helper()
	layout{tools: true}.within(t, image, `D=$DISK0; P1=${DISK0}1; export LVM_SYSTEM_DIR=/tmp/lvm; mkdir -p $LVM_SYSTEM_DIR
echo 'activation { udev_sync=0 udev_rules=0 monitoring=0 verify_udev_operations=0 } global { locking_dir="/run" } backup { backup=0 archive=0 } devices { use_devicesfile=0 }' >$LVM_SYSTEM_DIR/lvm.conf
`+script)
}
