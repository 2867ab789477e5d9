package disk_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/disk"
	"taproom/disk/disktest"
)

// needsTools leaves a test to where the tools have been made.
func needsTools(t *testing.T) {
	t.Helper()
	if os.Getenv("TAPROOM_APPLIANCE") == "" {
		t.Skip("it takes the appliance's tools: make appliance")
	}
}

// everyKind fills a folder with all that tar keeps.
const everyKind = `
cd /sysroot
mkdir -p deep/er many; echo text >deep/er/file; ln deep/er/file hard; ln -s /etc/passwd absolute; ln -s ../../.. up; mkfifo pipe
mknod block b 7 200; mknod char c 1 200; chown 1000:70000 deep/er/file; chmod 7751 deep; printf x >"two
lines"; printf x >"$(printf 'not\377utf8')"
truncate -s 30M holes; printf middle | dd of=holes bs=1 seek=20000000 conv=notrunc status=none; printf end >>holes
setfattr -n user.note -v "a value" deep/er/file; setfattr -n user.binary -v 0x00ff0a00 deep; setfattr -n trusted.x -v y deep/er
setfattr -n security.capability -v 0x0100000200040000000000000000000000000000 hard
setfacl -m u:4242:rwx,g:77:r-- deep/er; setfacl -d -m u:4242:r-x deep/er; setfacl -m u:1:r-- deep/er/file
for i in $(seq 300); do echo $i >many/file-with-a-name-that-is-so-long-that-the-old-header-of-tar-has-not-enough-room-for-it-and-a-longer-one-is-needed-$i; done
touch -d @1234567890.123456789 deep/er/file deep; echo never >fixed; chattr +i fixed
`

func TestAnArchiveKeepsEverythingByteForByte(t *testing.T) {
	t.Parallel()
	needsTools(t)
	ctx := t.Context()
	a := opened(t, disktest.Make(t, "image 128M; mkfs.ext4 -q -b 1024 $I"), disk.Scratch)
	var said bytes.Buffer
	if err := a.Run(ctx, disk.Command{Args: []string{"bash", "-euc", everyKind}, Stdout: &said, Stderr: &said}); err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	b := opened(t, disktest.Make(t, "image 200M; mkfs.ext4 -q -I 512 -b 1024 $I"), disk.Scratch)
	var first, second bytes.Buffer
	var told int64
	if err := a.TarOut(ctx, "/", &first, func(done, _ int64) { told = done }); err != nil {
		t.Fatal(err)
	}
	if told != int64(first.Len()) {
		t.Errorf("%d bytes were told of, %d came", told, first.Len())
	}
	if err := disk.Copy(ctx, a, "/", b, "/", nil); err != nil {
		t.Fatal(err)
	}
	if err := b.TarOut(ctx, "/", &second, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(members(t, first.Bytes()), members(t, second.Bytes())); diff != "" {
		t.Errorf("what came to the other image is not the same (-want +got):\n%s", diff)
	}
	list := strings.Join(members(t, first.Bytes()), "\n")
	for _, want := range []string{"SCHILY.xattr.security.capability", "SCHILY.acl.default", "SCHILY.xattr.trusted.x", "./char 3", "./block 4", "1000:70000", "GNU.sparse"} {
		if !strings.Contains(list, want) {
			t.Errorf("nothing in the archive has %s", want)
		}
	}
	one := bytes.Buffer{}
	if err := a.TarOut(ctx, "/deep/er/file", &one, nil); err != nil || len(members(t, one.Bytes())) != 1 {
		t.Errorf("one file: %d bytes (%v)", one.Len(), err)
	}
	trap := hostileArchive(t)
	if err := b.TarIn(ctx, "/deep", bytes.NewReader(trap), nil); err == nil {
		t.Error("an archive that leads out of the folder was unpacked without a word")
	}
	if _, err := b.Stat(ctx, "/trap", false); err == nil {
		t.Error("an archive has written above the folder that it was unpacked to")
	}
	var failed *disk.ExitError
	if err := b.TarIn(ctx, "/", strings.NewReader("no archive at all, and longer than nothing"), nil); !errors.As(err, &failed) {
		t.Errorf("what is no archive: %v", err)
	}
	full := opened(t, disktest.Make(t, "image 8M; mkfs.ext4 -q $I"), disk.Scratch)
	if err := full.TarIn(ctx, "/", bytes.NewReader(bigArchive(t)), nil); err == nil || !strings.Contains(err.Error(), "No space left") {
		t.Errorf("a full disk: %v", err)
	}
}

// members are what is in an archive, a line each.
func members(t *testing.T, b []byte) []string {
	t.Helper()
	var list []string
	r := tar.NewReader(bytes.NewReader(b))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		line := []string{h.Name, string(h.Typeflag), h.Linkname}
		line = append(line, h.FileInfo().Mode().String(), h.ModTime.String())
		line = append(line, strings.Join([]string{strconv.Itoa(h.Uid), strconv.Itoa(h.Gid)}, ":"), strconv.FormatInt(h.Size, 10), strconv.FormatInt(h.Devmajor, 10), strconv.FormatInt(h.Devminor, 10))
		var records []string
		for key, value := range h.PAXRecords {
			records = append(records, key+"="+value)
		}
		slices.Sort(records)
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, fmt.Sprintf("%x", sha256.Sum256(text)))
		list = append(list, strings.Join(append(line, records...), " "))
	}
}

// archive makes one of a few members.
func archive(t *testing.T, headers ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		err := w.WriteHeader(&h)
		if err == nil {
			_, err = w.Write(make([]byte, h.Size))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func hostileArchive(t *testing.T) []byte {
	t.Helper()
	return archive(t,
		tar.Header{Name: "../trap", Mode: 0o644, Size: 1, Typeflag: tar.TypeReg},
		tar.Header{Name: "way", Linkname: "..", Mode: 0o777, Typeflag: tar.TypeSymlink},
		tar.Header{Name: "way/trap", Mode: 0o644, Size: 1, Typeflag: tar.TypeReg},
	)
}

func bigArchive(t *testing.T) []byte {
	t.Helper()
	return archive(t, tar.Header{Name: "large", Mode: 0o644, Size: 30 << 20, Typeflag: tar.TypeReg})
}

func TestAFileSystemIsCheckedAndRepairedByItsOwnProgram(t *testing.T) {
	t.Parallel()
	needsTools(t)
	for name, script := range map[string]string{
		"ext4": "image 16M; mkfs.ext4 -q $I", "xfs": "image 300M; mkfs.xfs -q $I", "btrfs": "image 120M; mkfs.btrfs -q $I", "vfat": "image 8M; mkfs.vfat $I >/dev/null",
		"exfat": "image 8M; mkfs.exfat $I >/dev/null", "f2fs": "image 64M; mkfs.f2fs -q $I >/dev/null", "ntfs3": "image 8M; mkfs.ntfs -F -q $I",
	} {
		a := layout{tools: true}.open(t, disktest.Make(t, script), disk.Discard)
		r, err := a.Fsck(t.Context(), a.Disks()[0].Name, false)
		if err != nil || !r.Clean || r.Repaired || r.Type != name || r.Output == "" {
			t.Errorf("%s: %+v (%v)", name, r, err)
		}
		if err := a.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	broken := disktest.Make(t, "mkdir t; tree t; image 16M; mkfs.ext4 -q -d t $I; debugfs -w -R 'clri /etc/motd' $I 2>/dev/null")
	a := layout{tools: true}.open(t, broken, disk.Scratch)
	name := a.Disks()[0].Name
	looked, err := a.Fsck(t.Context(), name, false)
	repaired, repairErr := a.Fsck(t.Context(), name, true)
	again, againErr := a.Fsck(t.Context(), name, false)
	if err := errors.Join(err, repairErr, againErr); err != nil || looked.Clean || !repaired.Clean || !repaired.Repaired || !again.Clean {
		t.Errorf("%v; looked at: %+v; repaired: %+v; then: %+v", err, looked, repaired, again)
	}
	if _, err := a.Fsck(t.Context(), "none", false); err == nil {
		t.Error("a device that is not there was checked")
	}
}
