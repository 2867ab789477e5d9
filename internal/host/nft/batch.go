package nft

import (
	"encoding/binary"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

const (
	headerSize = 16 // struct nlmsghdr
	genmsgSize = 4  // struct nfgenmsg
)

// batch is a transaction as bytes. The kernel wants all of it in one datagram.
type batch struct {
	bytes []byte
	first uint32 // sequence number of the first message, which is BATCH_BEGIN
	ops   []int  // the operation of each message between begin and end
}

// encodeBatch lays out begin, messages and end. Only the last message asks for an acknowledgement: a success is one
// answer, a failure one answer for each message that failed.
func encodeBatch(t *Transaction, seq uint32) (*batch, error) {
	b := &batch{first: seq}
	var gen []byte
	if t.hasGen {
		var err error
		gen, err = attributes(func(ae *netlink.AttributeEncoder) error {
			ae.Uint32(unix.NFNL_BATCH_GENID, t.gen)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	const subsystem = unix.NFNL_SUBSYS_NFTABLES
	b.put(unix.NFNL_MSG_BATCH_BEGIN, netlink.Request, 0, subsystem, gen)
	e := &encoder{}
	for n, op := range t.ops {
		msgs, err := e.messages(n, op)
		if err != nil {
			return nil, &Error{Command: shorten(op.command()), Object: op.object, Err: err}
		}
		for i, m := range msgs {
			flags := m.flags | netlink.Request
			if n == len(t.ops)-1 && i == len(msgs)-1 {
				flags |= netlink.Acknowledge
			}
			b.put(subsystem<<8|uint16(m.kind), flags, m.family, 0, m.attrs)
			b.ops = append(b.ops, m.op)
		}
	}
	b.put(unix.NFNL_MSG_BATCH_END, netlink.Request, 0, subsystem, nil)
	return b, nil
}

func (b *batch) put(kind uint16, flags netlink.HeaderFlags, f Family, resource uint16, attrs []byte) {
	seq := b.first
	if len(b.bytes) > 0 {
		seq += uint32(len(b.ops)) + 1
	}
	b.bytes = appendMessage(b.bytes, kind, flags, seq, f, resource, attrs)
}

// last is the sequence number of the message that is acknowledged.
func (b *batch) last() uint32 { return b.first + uint32(len(b.ops)) }

// operation maps a sequence number back; ok is false for begin and end.
func (b *batch) operation(seq uint32) (op int, ok bool) {
	i := seq - b.first - 1
	if int64(i) >= int64(len(b.ops)) {
		return 0, false
	}
	return b.ops[i], true
}

func appendMessage(out []byte, kind uint16, flags netlink.HeaderFlags, seq uint32, f Family, resource uint16, attrs []byte) []byte {
	order := binary.NativeEndian
	out = order.AppendUint32(out, uint32(headerSize+genmsgSize+len(attrs)))
	out = order.AppendUint16(out, kind)
	out = order.AppendUint16(out, uint16(flags))
	out = order.AppendUint32(out, seq)
	out = order.AppendUint32(out, 0)
	out = append(out, byte(f), unix.NFNETLINK_V0)
	out = binary.BigEndian.AppendUint16(out, resource)
	out = append(out, attrs...)
	return append(out, make([]byte, padded(len(attrs))-len(attrs))...)
}
