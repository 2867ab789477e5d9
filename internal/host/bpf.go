package host

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Helpers of the kernel that programs call (include/uapi/linux/bpf.h).
const (
	bpfSkbLoadBytes = 26
	bpfFibLookup    = 69
)

// Fields of struct __sk_buff by their offsets, and return values of a filter that acts directly.
const (
	skbProtocol       = 16 // of the payload behind a tag kept outside the frame, in the order of the network
	skbVLANPresent    = 20
	skbVLAN           = 24 // the tag that the kernel keeps outside the frame
	skbIngressIfindex = 36
	skbIfindex        = 40

	bpfNext = -1 // TC_ACT_UNSPEC: the next filter decides
	bpfDrop = 2  // TC_ACT_SHOT
)

const (
	ethernet = 14    // bytes of a frame's header
	vlanID   = 0xfff // of a tag
)

// Fields of struct bpf_fib_lookup by their offsets, its size, and its results: results with a link to leave through,
// and results after which the kernel does not forward.
const (
	fibFamily, fibIfindex, fibSource, fibTarget, fibSize = 0, 8, 16, 32, 64

	fibSuccess, fibNoNeighbour = 0, 7 // BPF_FIB_LKUP_RET_SUCCESS, NO_NEIGH
	fibFirstNot, fibLastNot    = 1, 5 // BPF_FIB_LKUP_RET_BLACKHOLE, UNREACHABLE, PROHIBIT, NOT_FWDED, FWD_DISABLED
	fibDisabled                = 5

	loopbackIndex = 1 // in every network namespace
)

// bpfInsn appends an instruction of eBPF: to and from are registers.
func bpfInsn(b []byte, code int, to, from byte, off int16, imm int32) []byte {
	b = append(b, byte(code), from<<4|to)
	b = binary.NativeEndian.AppendUint16(b, uint16(off))
	return binary.NativeEndian.AppendUint32(b, uint32(imm))
}

// Kinds of instructions (include/uapi/linux/bpf.h).
const (
	bpfMovImm   = unix.BPF_ALU64 | 0xb0 | unix.BPF_K
	bpfMov      = unix.BPF_ALU64 | 0xb0 | unix.BPF_X
	bpfAddImm   = unix.BPF_ALU64 | unix.BPF_ADD | unix.BPF_K
	bpfAndImm   = unix.BPF_ALU64 | unix.BPF_AND | unix.BPF_K
	bpfLoad     = unix.BPF_LDX | unix.BPF_MEM | unix.BPF_W
	bpfStore    = unix.BPF_ST | unix.BPF_MEM
	bpfSave     = unix.BPF_STX | unix.BPF_MEM | unix.BPF_W
	bpfCall     = unix.BPF_JMP | 0x80
	bpfExit     = unix.BPF_JMP | 0x90
	bpfIf       = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_X
	bpfIfImm    = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	bpfIfNotImm = unix.BPF_JMP | 0x50 | unix.BPF_K
	bpfLoadHalf = unix.BPF_LDX | unix.BPF_MEM | unix.BPF_H
	bpfIfLess   = unix.BPF_JMP | 0xc0 | unix.BPF_K // as signed numbers
	bpfIfMore   = unix.BPF_JMP | 0x60 | unix.BPF_K // as signed numbers
	bpfDouble   = 0x18                             // BPF_DW
)

// bpfEnd appends that the program returns a number.
func bpfEnd(b []byte, returns int32) []byte {
	b = bpfInsn(b, bpfMovImm, 0, 0, 0, returns)
	return bpfInsn(b, bpfExit, 0, 0, 0, 0)
}

// bpfJump appends a jump that bpfLand says the end of, and adds where it is.
func bpfJump(b []byte, jumps []int, code int, register byte, imm int32) (program []byte, all []int) {
	jumps = append(jumps, len(b))
	return bpfInsn(b, code, register, 0, 0, imm), jumps
}

// bpfLand makes the next appended instruction the target of jumps. A jump counts instructions, from the instruction behind it.
func bpfLand(b []byte, jumps []int) {
	for _, at := range jumps {
		binary.NativeEndian.PutUint16(b[at+2:], uint16((len(b)-at)/8-1))
	}
}

// bpfLoadBytes appends that bytes of the frame, whose program has its context in register 6, are copied to the stack. Register 0
// is negative where there are not as many.
func bpfLoadBytes(b []byte, from, to, length int32) []byte {
	b = bpfInsn(b, bpfMov, 1, 6, 0, 0)
	b = bpfInsn(b, bpfMovImm, 2, 0, 0, from)
	b = bpfInsn(b, bpfMov, 3, 10, 0, 0)
	b = bpfInsn(b, bpfAddImm, 3, 0, 0, to)
	b = bpfInsn(b, bpfMovImm, 4, 0, 0, length)
	return bpfInsn(b, bpfCall, 0, 0, 0, bpfSkbLoadBytes)
}

// bigEndian is a number in the order of the network, as this machine reads it.
func bigEndian(n uint16) uint16 {
	return binary.BigEndian.Uint16(binary.NativeEndian.AppendUint16(nil, n))
}

// fenceTo is the program for packets that leave through a link: it drops packets that came in through another link, which the
// host is forwarding. Packets that the host itself sends came in through no link.
func fenceTo() []byte {
	b := bpfInsn(nil, bpfLoad, 2, 1, skbIngressIfindex, 0)
	b = bpfInsn(b, bpfLoad, 3, 1, skbIfindex, 0)
	b = bpfInsn(b, bpfIfImm, 2, 0, 3, 0)
	b = bpfInsn(b, bpfIf, 2, 3, 2, 0)
	b = bpfEnd(b, bpfDrop)
	return bpfEnd(b, bpfNext)
}

// fenceFrom is the program for packets that come in through a link: it asks the kernel for the packet's route, and drops packets
// that would leave through another link. Packets to the host, to a group or to all hosts pass.
// Packets for which the kernel cannot answer, as where a route leads into an encapsulation, are dropped.
//
// The lookup is that of a packet's addresses and of the link: rules of routing that go by a mark, a port or a protocol are not
// asked, and packets have the addresses that they come with, before anything translates them.
//
// A tag of the VLAN 0 contains a priority and no VLAN: the kernel removes it and processes the payload, for each tag in turn. By
// then the kernel keeps the first tag outside the frame, and the program checks the packet as untagged. A packet with a second tag
// of the VLAN 0 is dropped: no host sends it.
func fenceFrom() []byte {
	b := bpfInsn(nil, bpfMov, 6, 1, 0, 0)
	b = bpfInsn(b, bpfLoad, 7, 6, skbIfindex, 0)
	b = bpfInsn(b, bpfLoad, 8, 6, skbProtocol, 0)
	b = bpfInsn(b, bpfLoad, 2, 6, skbVLANPresent, 0)
	b = bpfInsn(b, bpfIfImm, 2, 0, 3, 0)
	b = bpfInsn(b, bpfLoad, 2, 6, skbVLAN, 0)
	b = bpfInsn(b, bpfAndImm, 2, 0, 0, vlanID)
	var pass []int
	b, pass = bpfJump(b, pass, bpfIfNotImm, 2, 0)
	for _, proto := range []uint16{unix.ETH_P_IP, unix.ETH_P_IPV6} {
		var other []int
		b, other = bpfJump(b, nil, bpfIfNotImm, 8, int32(bigEndian(proto)))
		b, pass = fenceLookup(b, pass, proto == unix.ETH_P_IPV6)
		bpfLand(b, other)
	}
	b = bpfInsn(b, bpfIfImm, 8, 0, 1, int32(bigEndian(unix.ETH_P_8021Q)))
	b, pass = bpfJump(b, pass, bpfIfNotImm, 8, int32(bigEndian(unix.ETH_P_8021AD)))
	b = bpfLoadBytes(b, ethernet, -2, 2)
	b, pass = bpfJump(b, pass, bpfIfLess, 0, 0) // half a tag, which the kernel drops by itself
	b = bpfInsn(b, bpfLoadHalf, 2, 10, -2, 0)
	b = bpfInsn(b, bpfAndImm, 2, 0, 0, int32(bigEndian(vlanID)))
	b, pass = bpfJump(b, pass, bpfIfNotImm, 2, 0)
	b = bpfEnd(b, bpfDrop)
	bpfLand(b, pass)
	return bpfEnd(b, bpfNext)
}

// fenceLookup appends the check of a packet of an address family, whose link is in register 7. It adds the jumps of packets that pass.
func fenceLookup(b []byte, pass []int, v6 bool) (program []byte, passing []int) {
	family, addresses, length := int32(unix.AF_INET), int32(ethernet+12), int32(4)
	if v6 {
		family, addresses, length = unix.AF_INET6, ethernet+8, 16
	}
	const fib = -fibSize // where it is in the frame of the stack
	for at := int16(0); at < fibSize; at += 8 {
		b = bpfInsn(b, bpfStore|bpfDouble, 10, 0, fib+at, 0)
	}
	b = bpfInsn(b, bpfStore|unix.BPF_B, 10, 0, fib+fibFamily, family)
	b = bpfInsn(b, bpfSave, 10, 7, fib+fibIfindex, 0)
	for _, to := range []int32{fibSource, fibTarget} {
		b = bpfLoadBytes(b, addresses, fib+to, length)
		b, pass = bpfJump(b, pass, bpfIfLess, 0, 0) // a part of a header, which the kernel drops by itself
		addresses += length
	}
	look := func() {
		b = bpfInsn(b, bpfMov, 1, 6, 0, 0)
		b = bpfInsn(b, bpfMov, 2, 10, 0, 0)
		b = bpfInsn(b, bpfAddImm, 2, 0, 0, fib)
		b = bpfInsn(b, bpfMovImm, 3, 0, 0, fibSize)
		b = bpfInsn(b, bpfMovImm, 4, 0, 0, 0)
		b = bpfInsn(b, bpfCall, 0, 0, 0, bpfFibLookup)
	}
	look()
	if v6 { // it forwards where all/forwarding says so, whatever the link's own is, which it looked at: the loopback's follows all
		var forwards []int
		b, forwards = bpfJump(b, nil, bpfIfNotImm, 0, fibDisabled)
		b = bpfInsn(b, bpfStore|unix.BPF_W, 10, 0, fib+fibIfindex, loopbackIndex)
		look()
		bpfLand(b, forwards)
	}
	b = bpfInsn(b, bpfIfImm, 0, 0, 4, fibSuccess)
	b = bpfInsn(b, bpfIfImm, 0, 0, 3, fibNoNeighbour)
	b = bpfInsn(b, bpfIfLess, 0, 0, 4, fibFirstNot)
	b = bpfInsn(b, bpfIfMore, 0, 0, 3, fibLastNot)
	b, pass = bpfJump(b, pass, unix.BPF_JMP|unix.BPF_JA, 0, 0)
	b = bpfInsn(b, bpfLoad, 2, 10, fib+fibIfindex, 0)
	pass = append(pass, len(b))
	b = bpfInsn(b, bpfIf, 2, 7, 0, 0) // it stays on the link
	return bpfEnd(b, bpfDrop), pass
}

// loadProgram gives the kernel a program for filters of frames.
func (k *Kernel) loadProgram(program []byte) (*os.File, error) {
	k.Step("bpf load")
	licence := []byte("Dual MIT/GPL\x00") // of the program alone: the kernel lets only GPL-compatible programs look up routes
	// union bpf_attr, the part for BPF_PROG_LOAD.
	attr := struct {
		kind, count             uint32
		insns, licence          uint64
		logLevel, logSize       uint32
		log                     uint64
		version, flags          uint32
		name                    [unix.BPF_OBJ_NAME_LEN]byte
		ifindex, expectedAttach uint32
	}{kind: unix.BPF_PROG_TYPE_SCHED_CLS, count: uint32(len(program) / 8)}
	attr.insns, attr.licence = uint64(uintptr(unsafe.Pointer(&program[0]))), uint64(uintptr(unsafe.Pointer(&licence[0])))
	copy(attr.name[:], "taproom_fence")
	const signals = 1000 // that may come while the kernel looks at the program, which then begins again; Go has some of its own
	fd, errno := uintptr(0), unix.EAGAIN
	for n := 0; errors.Is(errno, unix.EAGAIN) && n < signals; n++ {
		fd, _, errno = unix.Syscall(unix.SYS_BPF, unix.BPF_PROG_LOAD, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
	}
	runtime.KeepAlive(program)
	runtime.KeepAlive(licence)
	if errno != 0 {
		var err error = errno
		if errors.Is(errno, unix.ENOSYS) {
			err = &Missing{What: "bpf", Config: "CONFIG_BPF_SYSCALL", Err: errno}
		}
		return nil, fmt.Errorf("load a program of eBPF: %w", err)
	}
	return os.NewFile(fd, "bpf-prog"), nil
}
