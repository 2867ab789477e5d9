package superblock

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// blank makes an empty image of size bytes.
func blank(t *testing.T, size int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "image")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
	return path
}

func probeFile(t *testing.T, path string) Content {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	size, err := f.Seek(0, 2)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Probe(f, size)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// blkid is what util-linux says of an image.
func blkid(t *testing.T, path string) Content {
	t.Helper()
	out, err := exec.Command("blkid", "-p", "-o", "export", path).Output()
	if err != nil {
		t.Fatalf("blkid -p: %v", err)
	}
	var c Content
	for line := range strings.Lines(string(out)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch value = strings.ReplaceAll(value, `\ `, " "); key {
		case "TYPE":
			c.Type = value
		case "UUID":
			c.UUID = value
		case "LABEL":
			c.Label = value
		}
	}
	return c
}

// Every tool makes one, and util-linux says the same of it.
func TestWhatTheDistributionsToolsMakeIsKnown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		mib    int64
		script string // $I is the image, $D a folder to put into it
	}{
		"ext2":                          {8, "mkfs.ext2 -q -L 'a label' $I"},
		"ext3":                          {8, "mkfs.ext3 -q $I"},
		"ext4":                          {8, "mkfs.ext4 -q -L label $I"},
		"ext4, nothing in it is ext4's": {8, "mkfs.ext4 -q -O ^extents,^64bit,^metadata_csum,^huge_file,^flex_bg,^dir_nlink,^extra_isize $I"},
		"journal":                       {8, "mke2fs -q -O journal_dev $I"},
		"xfs":                           {300, "mkfs.xfs -q -L label $I"},
		"btrfs":                         {120, "mkfs.btrfs -q -L label $I"},
		"fat12":                         {2, "mkfs.vfat -n LABEL $I"},
		"fat32":                         {64, "mkfs.vfat -F 32 $I"},
		"ntfs":                          {8, "mkfs.ntfs -F -q -L label $I"},
		"exfat":                         {8, "mkfs.exfat -L LABEL $I"},
		"f2fs":                          {64, "mkfs.f2fs -q -l 'a label' $I"},
		"squashfs":                      {0, "rm $I; mksquashfs $D $I -quiet -no-progress"},
		"erofs":                         {0, "rm $I; mkfs.erofs $I $D"},
		"iso9660":                       {0, "genisoimage -quiet -V LABEL -o $I $D"},
		"swap":                          {1, "mkswap -L label $I"},
		"LUKS1":                         {8, "echo secret | cryptsetup luksFormat -q --type luks1 --pbkdf-force-iterations 1000 $I -"},
		"LUKS2":                         {32, "echo secret | cryptsetup luksFormat -q --type luks2 --label label --pbkdf pbkdf2 --pbkdf-force-iterations 1000 $I -"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			image := blank(t, c.mib<<20)
			make := exec.Command("sh", "-ec", c.script)
			make.Env = append(os.Environ(), "I="+image, "D="+dir, "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin")
			if out, err := make.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", c.script, err, out)
			}
			got, want := probeFile(t, image), blkid(t, image)
			if want.Type == "ntfs" {
				want.Type = "ntfs3" // the kernel's driver is called that
			}
			if got != want {
				t.Errorf("%+v, util-linux says %+v", got, want)
			}
			if mounts := got.Mountable(); mounts != !strings.Contains("swap LUKS1 LUKS2 journal", name) {
				t.Errorf("%s can be mounted: %v", name, mounts)
			}
		})
	}
}

func TestPartsOfSomethingLargerAreKnown(t *testing.T) {
	t.Parallel()
	lvm := make([]byte, 1<<20)
	copy(lvm[512:], "LABELONE")
	copy(lvm[512+24:], "LVM2 001")
	copy(lvm[512+32:], "abcdef0123456789ABCDEF9876543210")
	raid := func(at, version int) []byte {
		b := make([]byte, 1<<20)
		copy(b[at:], raidMagic)
		binary.LittleEndian.PutUint32(b[at+4:], uint32(version))
		if version == 0 {
			binary.LittleEndian.PutUint32(b[at+8:], 90)
			for i, word := range []int{20, 52, 56, 60} {
				binary.LittleEndian.PutUint32(b[at+word:], uint32(i+1)*0x01010101)
			}
			return b
		}
		binary.LittleEndian.PutUint64(b[at+144:], uint64(at>>9))
		copy(b[at+16:], "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10")
		copy(b[at+32:], "host:0")
		return b
	}
	over := func(b []byte) []byte { // ext4 lies below, as on a member of a mirror
		copy(b[1024+0x38:], "\x53\xef")
		return b
	}
	elsewhere := raid(1<<20-8192, 1)
	binary.LittleEndian.PutUint64(elsewhere[1<<20-8192+144:], 8)
	old := Content{"linux_raid_member", "01010101-0202-0202-0303-030304040404", ""}
	array := Content{"linux_raid_member", "01020304-0506-0708-090a-0b0c0d0e0f10", "host:0"}
	for name, c := range map[string]struct {
		image []byte
		want  Content
	}{
		"volume group": {lvm, Content{"LVM2_member", "abcdef-0123-4567-89AB-CDEF-9876-543210", ""}},
		"array 1.1":    {raid(0, 1), array},
		"array 1.2":    {raid(4096, 1), array},
		"array 1.0":    {raid(1<<20-8192, 1), array},
		"array 0.90":   {raid(1<<20-64<<10, 0), old},
		"mirror 1.0":   {over(raid(1<<20-8192, 1)), array},
		"mirror 0.90":  {over(raid(1<<20-64<<10, 0)), old},
		"of another":   {elsewhere, Content{}}, // a partition that ends where the disk does
		"zeros":        {make([]byte, 1<<20), Content{}},
		"nothing":      {nil, Content{}},
	} {
		got, err := Probe(bytes.NewReader(c.image), int64(len(c.image)))
		if err != nil || got != c.want || got.Mountable() {
			t.Errorf("%s: %+v, %v, want %+v, which cannot be mounted", name, got, err, c.want)
		}
	}
}

// broken is a device that cannot be read.
type broken struct{}

func (broken) ReadAt([]byte, int64) (int, error) { return 0, os.ErrPermission }

func TestADeviceThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	if c, err := Probe(broken{}, 1<<20); !errors.Is(err, os.ErrPermission) || c != (Content{}) {
		t.Errorf("%+v, %v", c, err)
	}
}

// FuzzProbe reads anything. What comes out can be printed.
func FuzzProbe(f *testing.F) {
	for _, magic := range []struct {
		at int
		b  string
	}{{0, "LUKS\xba\xbe\x00\x02"}, {512, "LABELONE"}, {0, raidMagic}, {0, "XFSB"}, {1080, "\x53\xef"}, {65600, "_BHRfS_M"}, {0, "hsqs"}, {32769, "CD001"}, {3, "NTFS    "}, {1024, "\x10\x20\xf5\xf2"}} {
		b := make([]byte, magic.at+4096)
		copy(b[magic.at:], magic.b)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := Probe(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Error(err)
		}
		if strings.ContainsAny(c.UUID+c.Label, "\x00\n\x1b") {
			t.Errorf("%+v", c)
		}
	})
}
