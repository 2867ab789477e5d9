package inspect

import (
	"debug/elf"
	"encoding/binary"
	"io"
	"strings"
)

// loaders are files by which boot loaders are known.
var loaders = []struct {
	name string
	at   []string
}{
	{"grub", []string{"boot/grub/grub.cfg", "boot/grub2/grub.cfg", "grub/grub.cfg", "grub2/grub.cfg", "boot/grub/menu.lst", "boot/grub/grub.conf"}},
	{"systemd-boot", []string{"boot/loader/loader.conf", "efi/loader/loader.conf", "boot/efi/loader/loader.conf", "boot/EFI/systemd/systemd-bootx64.efi", "boot/efi/EFI/systemd/systemd-bootx64.efi", "efi/EFI/systemd/systemd-bootx64.efi"}},
	{"extlinux", []string{"boot/extlinux.conf", "boot/extlinux/extlinux.conf"}},
	{"syslinux", []string{"boot/syslinux/syslinux.cfg", "syslinux.cfg", "syslinux/syslinux.cfg", "isolinux/isolinux.cfg"}},
	{"limine", []string{"boot/limine.conf", "boot/limine/limine.conf", "boot/limine.cfg", "boot/limine/limine.cfg"}},
	{"u-boot", []string{"boot/boot.scr", "boot/boot.cmd", "boot/armbianEnv.txt"}},
	{"lilo", []string{"etc/lilo.conf"}},
	{"zipl", []string{"etc/zipl.conf"}},
}

// bootLoaders are those whose files are there, each once.
func bootLoaders(t *tree) []BootLoader {
	var out []BootLoader
	for _, l := range loaders {
		if at := t.first(l.at...); at != "" {
			out = append(out, BootLoader{Name: l.name, Path: "/" + at})
		}
	}
	return out
}

// fstab reads fstab(5).
func fstab(t *tree, name string) []MountPoint {
	var out []MountPoint
	for line := range strings.Lines(t.text(name)) {
		f := strings.Fields(line)
		if len(f) < 2 || strings.HasPrefix(f[0], "#") || len(out) >= 1000 {
			continue
		}
		f = append(f, "", "")
		out = append(out, MountPoint{Device: clip(unescape(f[0])), At: clip(unescape(f[1])), Type: clip(f[2]), Options: clip(f[3])})
	}
	return out
}

// unescape undoes the octal escapes of getmntent(3).
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`, `\043`, "#").Replace(s)
}

// programs are what every system has one of, built for its processor. The dynamic linkers come last: a system may have several.
var programs = []string{
	"usr/lib/systemd/systemd", "lib/systemd/systemd", "bin/busybox", "bin/sh", "usr/bin/sh", "bin/bash", "usr/bin/bash", "sbin/init", nixProfile + "/systemd/lib/systemd/systemd",
	"lib64/ld-linux-x86-64.so.2", "lib/ld-linux-aarch64.so.1",
}

// arch is the processor that the system's programs are for, as uname -m names it.
func arch(t *tree) string {
	for _, name := range programs {
		if a := archOf(t, name); a != "" {
			return a
		}
	}
	return ""
}

// archOf reads the head of an ELF file. See elf(5).
func archOf(t *tree, name string) string {
	f, _, err := t.regular(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	var h [20]byte
	if _, err := io.ReadFull(f, h[:]); err != nil || string(h[:4]) != elf.ELFMAG {
		return ""
	}
	var order binary.ByteOrder = binary.LittleEndian
	if elf.Data(h[elf.EI_DATA]) == elf.ELFDATA2MSB {
		order = binary.BigEndian
	}
	return machine(elf.Machine(order.Uint16(h[18:])), elf.Class(h[elf.EI_CLASS]) == elf.ELFCLASS64, order == binary.LittleEndian)
}

func machine(m elf.Machine, wide, little bool) string {
	choose := func(is bool, yes, no string) string {
		if is {
			return yes
		}
		return no
	}
	switch m {
	case elf.EM_X86_64:
		return "x86_64"
	case elf.EM_386:
		return "i686"
	case elf.EM_AARCH64:
		return "aarch64"
	case elf.EM_ARM:
		return "arm"
	case elf.EM_RISCV:
		return choose(wide, "riscv64", "riscv32")
	case elf.EM_PPC64:
		return choose(little, "ppc64le", "ppc64")
	case elf.EM_PPC:
		return "ppc"
	case elf.EM_S390:
		return choose(wide, "s390x", "s390")
	case elf.EM_LOONGARCH:
		return choose(wide, "loongarch64", "loongarch32")
	case elf.EM_MIPS:
		return choose(wide, "mips64", "mips")
	case elf.EM_SPARCV9:
		return "sparc64"
	}
	return ""
}
