package build

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"taproom/internal/appliance/cache"
	"taproom/internal/appliance/kbuild"
	"taproom/internal/qemu/emutest"
)

// report is what the tests' first process says.
type report struct {
	Up, Release string
	Lacks       []string
	Disks       map[string]string
	Ports       []string
}

// needed is what appliances promise to disks from anywhere, beside what mounts at once.
func needed() []string {
	return []string{
		"fs:ext4", "fs:ext2", "fs:xfs", "fs:btrfs", "fs:f2fs", "fs:vfat", "fs:exfat", "fs:ntfs3", "fs:hfsplus", "fs:udf", "fs:iso9660",
		"fs:squashfs", "fs:erofs", "fs:9p", "fs:virtiofs", "fs:fuse", "fs:tmpfs",
		"skcipher:xts(aes)", "skcipher:cbc(aes)", "skcipher:xts(serpent)", "skcipher:xts(twofish)", "skcipher:essiv(cbc(aes),sha256)",
		"hash:sha1", "hash:sha256", "hash:sha512", "hash:crc32c",
		"dev:mapper/control", "dev:loop-control", "dev:fuse", "dev:btrfs-control",
	}
}

// machines are QEMU's options for each type of machine: a port, a disk, and the bus they are on.
func machines() map[string][]string {
	common := []string{"-device", "virtserialport,bus=vser.0,chardev=port,name=test.port", "-device", "scsi-hd,bus=scsi0.0,drive=d,serial=S1"}
	pci := append([]string{"-device", "virtio-serial-pci,id=vser", "-device", "virtio-scsi-pci,id=scsi0"}, common...)
	return map[string][]string{
		"microvm": append([]string{
			"-M", "microvm,acpi=off,pit=on,pic=on,rtc=on,auto-kernel-cmdline=on,isa-serial=on", "-global", "virtio-mmio.force-legacy=false",
			"-device", "virtio-serial-device,id=vser", "-device", "virtio-scsi-device,id=scsi0",
		}, common...),
		"pc":  append([]string{"-M", "pc,vmport=off,usb=off,hpet=off,acpi=off"}, pci...),
		"q35": append([]string{"-M", "q35,vmport=off,usb=off,hpet=off,acpi=off"}, pci...),
	}
}

// boot runs a machine to its end and returns what its first process said.
func boot(t *testing.T, f Files, machine string) report {
	t.Helper()
	disk := filepath.Join(t.TempDir(), "disk")
	if err := os.WriteFile(disk, append([]byte("hello disk"), make([]byte, 1<<20)...), 0o600); err != nil {
		t.Fatal(err)
	}
	defer emutest.Boot(t)()
	ctx, cancel := emutest.Watch(t.Context(), 2, nil) // it looks at all its drivers
	defer cancel()
	args := append([]string{
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-cpu", "max", "-accel", "tcg", "-m", strconv.Itoa(f.Memory), "-serial", "stdio",
		"-chardev", "null,id=port", "-drive", "if=none,id=d,format=raw,file=" + disk, "-kernel", f.Kernel, "-initrd", f.Initrd,
		"-append", strings.Join(append(slices.Clone(f.Cmdline), "inittest="+strings.Join(needed(), "+")), " "),
	}, machines()[machine]...)
	c := exec.CommandContext(ctx, "qemu-system-x86_64", args...)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	began := time.Now()
	err := c.Run()
	_, text, found := strings.Cut(out.String(), "REPORT ")
	var r report
	if err == nil && found {
		err = json.Unmarshal([]byte(strings.SplitN(text, "\n", 2)[0]), &r)
	}
	if err != nil || !found {
		t.Fatalf("%s: %v; console:\n%s", machine, err, out.String())
	}
	t.Logf("%s: %s ran from start to end in %v, its first process began after %s s", machine, r.Release, time.Since(began), r.Up)
	return r
}

func checkReport(t *testing.T, r report, lacks ...string) {
	t.Helper()
	if !slices.Equal(r.Lacks, lacks) {
		t.Errorf("the kernel lacks %q, want %q", r.Lacks, lacks)
	}
	if r.Disks["S1"] != "hello disk" {
		t.Errorf("its disks are %q", r.Disks)
	}
	if !slices.Contains(r.Ports, "test.port") {
		t.Errorf("its ports are %q", r.Ports)
	}
}

func TestDistributionsKernelHasWhatDisksNeed(t *testing.T) {
	t.Parallel()
	f, err := Ensure(t.Context(), Options{AgentPath: os.Getenv(initEnv), Which: Distribution, Progress: func(what string) { t.Log(what) }})
	if err != nil {
		t.Fatal(err)
	}
	if r := boot(t, f, "pc"); strings.HasPrefix(r.Release, "6.1.") { // Debian's builds ntfs3 from release 13 on, whose kernel is 6.12
		checkReport(t, r, "fs:ntfs3")
	} else {
		checkReport(t, r)
	}
}

// ownFiles have the kernel of our configuration, which takes minutes to build: where there is none the test is skipped.
func ownFiles(t *testing.T) Files {
	t.Helper()
	c, err := cache.Open("")
	if err != nil {
		t.Fatal(err)
	}
	if _, found := kbuild.Find(c, kbuild.Appliance()); !found {
		t.Skip("our own kernel has not been built here: make appliance")
	}
	f, err := Ensure(t.Context(), Options{AgentPath: os.Getenv(initEnv), Progress: func(what string) { t.Log(what) }})
	if err != nil || !f.Own {
		t.Fatalf("%+v, %v, want our own kernel", f, err)
	}
	return f
}

func TestOwnKernelHasWhatDisksNeedOnEveryMachine(t *testing.T) {
	t.Parallel()
	f := ownFiles(t)
	for machine := range machines() {
		t.Run(machine, func(t *testing.T) { checkReport(t, boot(t, f, machine)) })
	}
}
