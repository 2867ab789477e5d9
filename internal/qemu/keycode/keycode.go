// Package keycode knows how keys of a PC's keyboard are numbered: by Linux, macOS, Windows, USB, the three sets of scan codes,
// and QEMU. keys.txt has a line for each key; its numbers are those of keycodemapdb, which QEMU and libvirt use.
package keycode

import (
	_ "embed"
	"strconv"
	"strings"
)

// keys has, for each key: Linux, macOS, AT set 1, 2 and 3, USB, Windows; "-" for none.
//
//go:embed keys.txt
var keys string

// Codeset is a way to number keys, as libvirt numbers it (virKeycodeSet).
type Codeset uint32

// The ways to number keys.
const (
	Linux  Codeset = 0
	XT     Codeset = 1 // scan codes of set 1
	ATSet1 Codeset = 2
	ATSet2 Codeset = 3
	ATSet3 Codeset = 4
	MacOS  Codeset = 5
	XTKbd  Codeset = 6 // of Linux's XT driver: set 1, where 0x100 marks a prefix
	USB    Codeset = 7
	Win32  Codeset = 8
	QNum   Codeset = 9 // of QEMU: set 1, where 0x80 marks a prefix
)

// Known reports whether there is such a set.
func (c Codeset) Known() bool { return c <= QNum }

// String is what virsh calls it.
func (c Codeset) String() string {
	names := [...]string{"linux", "xt", "atset1", "atset2", "atset3", "os_x", "xt_kbd", "usb", "win32", "qnum"}
	if !c.Known() {
		return strconv.FormatUint(uint64(c), 10)
	}
	return names[c]
}

// column is where a set stands in keys; -1 for those that set 1 gives.
func (c Codeset) column() int {
	switch c {
	case Linux:
		return 0
	case MacOS:
		return 1
	case XT, ATSet1:
		return 2
	case ATSet2:
		return 3
	case ATSet3:
		return 4
	case USB:
		return 5
	case Win32:
		return 6
	}
	return -1
}

// ToQNum is QEMU's number of a key; ok is false for a key that does not exist. QEMU's own numbers are as they are.
func ToQNum(set Codeset, code uint32) (qnum uint32, ok bool) {
	switch {
	case !set.Known():
		return 0, false
	case set == QNum && (code == 0 || code > 0xff):
		return 0, false
	case set == QNum:
		return code, true
	}
	for line := range strings.Lines(keys) {
		f := strings.Fields(line)
		scan, err := strconv.ParseUint(f[2], 10, 32)
		if err != nil {
			continue
		}
		is := strconv.FormatUint(uint64(prefixed(uint32(scan), 0x100)), 10)
		if at := set.column(); at >= 0 {
			is = f[at]
		}
		if is == strconv.FormatUint(uint64(code), 10) {
			return prefixed(uint32(scan), 0x80), true
		}
	}
	return 0, false
}

// prefixed writes a scan code with a mark in place of the prefix e0. Two keys of Korean keyboards have no prefix and no room
// for a mark.
func prefixed(scan, mark uint32) uint32 {
	const hanja, hangeul = 0xf1, 0xf2
	switch {
	case scan == hanja || scan == hangeul:
		if mark == 0x80 {
			return scan & 0x7f
		}
		return scan
	case scan > 0x7f:
		return mark | scan&0x7f
	}
	return scan
}
