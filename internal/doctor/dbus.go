package doctor

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// The system bus is asked one question: has a name an owner. A client library would be larger than the question.
const (
	busName     = "org.freedesktop.DBus"
	busPath     = "/org/freedesktop/DBus"
	busReply    = 2
	busError    = 3
	busMaxBody  = 1 << 16
	busDeadline = 2 * time.Second
)

// nameHasOwner asks the bus behind conn.
func nameHasOwner(ctx context.Context, conn net.Conn, name string) (bool, error) {
	end := time.Now().Add(busDeadline)
	if d, ok := ctx.Deadline(); ok && d.Before(end) {
		end = d
	}
	if err := conn.SetDeadline(end); err != nil {
		return false, err
	}
	r := bufio.NewReader(conn)
	uid := hex.EncodeToString([]byte(strconv.Itoa(os.Getuid())))
	if _, err := conn.Write([]byte("\x00AUTH EXTERNAL " + uid + "\r\n")); err != nil {
		return false, err
	}
	line, err := r.ReadString('\n')
	if err != nil {
		return false, err
	}
	if !strings.HasPrefix(line, "OK ") {
		return false, fmt.Errorf("the bus refuses us: %s", strings.TrimSpace(line))
	}
	hello := busCall(1, "Hello", "")
	ask := busCall(2, "NameHasOwner", name)
	if _, err := conn.Write(append(append([]byte("BEGIN\r\n"), hello...), ask...)); err != nil {
		return false, err
	}
	for {
		kind, serial, body, err := busRead(r)
		switch {
		case err != nil:
			return false, err
		case serial != 2:
			continue
		case kind == busError:
			return false, errors.New("the bus answered with an error")
		case len(body) < 4:
			return false, errors.New("the bus answered with nothing")
		}
		return binary.LittleEndian.Uint32(body) != 0, nil
	}
}

// busCall lays out a method call to the bus itself, with one string or nothing as its body.
func busCall(serial uint32, method, argument string) []byte {
	order := binary.LittleEndian
	var fields []byte
	field := func(code byte, signature, value string) {
		fields = append(fields, make([]byte, -len(fields)&7)...)
		fields = append(fields, code, 1, signature[0], 0)
		if signature == "g" {
			fields = append(append(append(fields, byte(len(value))), value...), 0)
			return
		}
		fields = order.AppendUint32(fields, uint32(len(value)))
		fields = append(append(fields, value...), 0)
	}
	field(1, "o", busPath)
	field(2, "s", busName)
	field(3, "s", method)
	field(6, "s", busName)
	var body []byte
	if argument != "" {
		field(8, "g", "s")
		body = order.AppendUint32(nil, uint32(len(argument)))
		body = append(append(body, argument...), 0)
	}
	out := []byte{'l', 1, 0, 1}
	out = order.AppendUint32(out, uint32(len(body)))
	out = order.AppendUint32(out, serial)
	out = order.AppendUint32(out, uint32(len(fields)))
	out = append(out, fields...)
	out = append(out, make([]byte, -len(out)&7)...)
	return append(out, body...)
}

// busRead reads one message: its kind, the serial number it replies to (0 for none) and its body.
func busRead(r io.Reader) (kind byte, serial uint32, body []byte, err error) {
	head := make([]byte, 16)
	if _, err := io.ReadFull(r, head); err != nil {
		return 0, 0, nil, err
	}
	if head[0] != 'l' {
		return 0, 0, nil, errors.New("the bus speaks big-endian")
	}
	order := binary.LittleEndian
	bodySize, fieldSize := order.Uint32(head[4:]), order.Uint32(head[12:])
	if bodySize > busMaxBody || fieldSize > busMaxBody {
		return 0, 0, nil, fmt.Errorf("the bus sent a message of %d and %d bytes", fieldSize, bodySize)
	}
	rest := make([]byte, int(fieldSize)+(-int(fieldSize)&7)+int(bodySize))
	if _, err := io.ReadFull(r, rest); err != nil {
		return 0, 0, nil, err
	}
	return head[1], replySerial(rest[:fieldSize]), rest[len(rest)-int(bodySize):], nil
}

// replySerial finds field 5 of a header; every field is aligned to 8 and holds one basic value.
func replySerial(fields []byte) uint32 {
	order := binary.LittleEndian
	for at := 0; at+8 <= len(fields); at += -at & 7 {
		code, signature := fields[at], fields[at+2]
		switch signature {
		case 'u':
			if code == 5 {
				return order.Uint32(fields[at+4:])
			}
			at += 8
		case 's', 'o':
			size := int64(order.Uint32(fields[at+4:]))
			if size > int64(len(fields)) {
				return 0
			}
			at += 8 + int(size) + 1
		case 'g':
			at += 4 + 1 + int(fields[at+4]) + 1
		default:
			return 0
		}
	}
	return 0
}
