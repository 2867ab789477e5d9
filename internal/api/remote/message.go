package remote

import (
	"encoding/binary"
	"fmt"

	"taproom/internal/api/virterr"
	"taproom/internal/api/xdr"
)

// Programs.
const (
	ProgramRemote    = 0x20008086
	ProgramQEMU      = 0x20008087
	ProgramKeepalive = 0x6b656570
	ProgramOwn       = 0x74617072 // "tapr": what libvirt lacks
	Version          = 1          // of every program
)

// Procedures of the keepalive program. They travel as Message, both ways, without a payload.
const (
	KeepalivePing = 1
	KeepalivePong = 2
)

// Types of a message.
const (
	Call         = 0
	Reply        = 1
	Message      = 2 // an event; its serial is 0
	Stream       = 3
	CallWithFDs  = 4 // a call; behind the header is how many descriptors follow the message
	ReplyWithFDs = 5
)

// Statuses of a message.
const (
	OK       = 0
	Failed   = 1 // the payload is an Error
	Continue = 2 // stream data
)

// Sizes of a message. The length field counts itself.
const (
	LengthSize = 4
	HeaderSize = LengthSize + 24
	MaxMessage = 33554432 + LengthSize
	// MaxFDs is how many descriptors may follow a message. Each comes with one byte, which is not part of it.
	MaxFDs = 32
	// MaxStreamData is the most that travels in one stream message (clients before libvirt 1.2.17 take no more).
	MaxStreamData = 262120
)

// Header begins every message.
type Header struct {
	Program   uint32
	Version   uint32
	Procedure uint32
	Type      uint32
	Serial    uint32
	Status    uint32
}

// ParseHeader reads the six words behind the length; b holds at least HeaderSize bytes, length included.
func ParseHeader(b []byte) Header {
	w := func(i int) uint32 { return binary.BigEndian.Uint32(b[LengthSize+4*i:]) }
	return Header{w(0), w(1), w(2), w(3), w(4), w(5)}
}

// Append writes a message with payload v behind dst. When v cannot be written or the message would be too long, dst is
// returned as it was.
func Append(dst []byte, h Header, v xdr.Value) ([]byte, error) {
	out, err := xdr.Append(appendHeader(dst, h), v)
	if err != nil {
		return dst, err
	}
	n := len(out) - len(dst)
	if n > MaxMessage {
		return dst, fmt.Errorf("message of %d bytes is over the limit of %d", n, MaxMessage)
	}
	binary.BigEndian.PutUint32(out[len(dst):], uint32(n))
	return out, nil
}

// AppendRaw writes a message whose payload is stream data, which is not padded.
func AppendRaw(dst []byte, h Header, data []byte) []byte {
	at := len(dst)
	dst = append(appendHeader(dst, h), data...)
	binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at))
	return dst
}

func appendHeader(dst []byte, h Header) []byte {
	for _, w := range [...]uint32{0, h.Program, h.Version, h.Procedure, h.Type, h.Serial, h.Status} {
		dst = binary.BigEndian.AppendUint32(dst, w)
	}
	return dst
}

// Error is the payload of a Failed message.
type Error struct {
	Code    int32
	Domain  int32
	Message OptString
	Level   int32
	Dom     *Domain
	Str1    OptString
	Str2    OptString
	Str3    OptString
	Int1    int32
	Int2    int32
	Net     *Network
}

// XDR implements xdr.Value.
func (e *Error) XDR(x *xdr.Coder) {
	x.Int32(&e.Code)
	x.Int32(&e.Domain)
	e.Message.XDR(x)
	x.Int32(&e.Level)
	xdr.Optional(x, &e.Dom)
	e.Str1.XDR(x)
	e.Str2.XDR(x)
	e.Str3.XDR(x)
	x.Int32(&e.Int1)
	x.Int32(&e.Int2)
	xdr.Optional(x, &e.Net)
}

// Err is the error a client sees.
func (e *Error) Err() *virterr.Error {
	return &virterr.Error{
		Code:    virterr.Code(e.Code),
		Domain:  virterr.Domain(e.Domain),
		Level:   virterr.Level(e.Level),
		Message: e.Message.S,
		Detail:  e.Str2.S,
	}
}

// counted is a payload behind the number of descriptors that follow the message.
type counted struct {
	n uint32
	v xdr.Value
}

// XDR implements xdr.Value.
func (c counted) XDR(x *xdr.Coder) {
	x.Uint32(&c.n)
	c.v.XDR(x)
}

// AppendWithFDs writes a message that n descriptors follow.
func AppendWithFDs(dst []byte, h Header, n int, v xdr.Value) ([]byte, error) {
	return Append(dst, h, counted{uint32(n), v})
}
