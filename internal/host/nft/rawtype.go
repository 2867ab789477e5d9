package nft

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// typeof begins the Type of a set whose keys have raw bytes in them. Its form is the port's name and bytes of a place that stands for
// all: "typeof iifname . @nh,0,48". nft accepts a Raw of that size, wherever it is, as the key of this kind of set only.
const typeof = "typeof "

// rawScalar is added to the size of raw bytes for their scalar. For the kernel they are all of nft's type integer.
const (
	rawScalar   scalar = 0x80
	typeInteger scalar = 4
)

// Numbers of nft's expressions and of their parts in the private data of a set (nftables, include/expression.h, payload_expr_build_udata).
const (
	udataTypeof    = 3 // of a set, NFTNL_UDATA_SET_KEY_TYPEOF
	typeofPayload  = 7
	typeofMeta     = 9
	typeofConcat   = 13
	typeofIIfName  = 6
	typeofNetwork  = 2
	typeofExpr     = 0 // parts of an expression: its kind
	typeofExprData = 1 // and the rest
)

// RawType is the Type of a set whose keys are a port's name and that many raw bytes.
func RawType(size int) string { return fmt.Sprintf("%siifname . @nh,0,%d", typeof, 8*size) }

func rawSizes() []int { return []int{1, 2, 4, 6, 16} }

// rawKeys parses the result of RawType.
func rawKeys(s string) (keyType, bool) {
	for _, n := range rawSizes() {
		if s == RawType(n) {
			return keyType{typeIfName, rawScalar + scalar(n)}, true
		}
	}
	return nil, false
}

// raw reports whether a key has raw bytes.
func (t keyType) raw() bool {
	return slices.ContainsFunc(t, func(s scalar) bool { return s&rawScalar != 0 })
}

// typeofUserdata is the private data by which nft knows the expressions that a set is declared by.
func (t keyType) typeofUserdata() []byte {
	if !t.raw() {
		return nil
	}
	number := func(kind uint8, n uint32) []byte { return udata(kind, binary.NativeEndian.AppendUint32(nil, n)) }
	expression := func(kind uint32, parts ...[]byte) []byte {
		return append(number(typeofExpr, kind), udata(typeofExprData, bytes.Join(parts, nil))...)
	}
	port := expression(typeofMeta, number(0, typeofIIfName))
	payload := expression(typeofPayload, number(0, 0), number(1, 0), number(2, typeofNetwork), number(3, 0), number(4, uint32(8*t[1].size())))
	return udata(udataTypeof, expression(typeofConcat, udata(0, port), udata(1, payload)))
}

// rawFromKernel finds the raw key of a set by its private data.
func rawFromKernel(userdata []byte) (keyType, bool) {
	got := readUdata(userdata, udataTypeof)
	for _, n := range rawSizes() {
		t, _ := rawKeys(RawType(n))
		if bytes.Equal(got, readUdata(t.typeofUserdata(), udataTypeof)) {
			return t, true
		}
	}
	return nil, false
}

// encodeRaw reads a number of that many bytes.
func encodeRaw(v string, size int) ([]byte, error) {
	digits, ok := strings.CutPrefix(v, "0x")
	if len(digits)%2 == 1 {
		digits = "0" + digits
	}
	b, err := hex.DecodeString(digits)
	if !ok || err != nil || len(b) > size {
		return nil, fmt.Errorf("%q is not a number of %d bytes: write it as 0x1f", v, size)
	}
	return append(make([]byte, size-len(b)), b...), nil
}

// rawText is a number as nft lists it.
func rawText(b []byte) string {
	digits := strings.TrimLeft(hex.EncodeToString(b), "0")
	if digits == "" {
		digits = "0"
	}
	return "0x" + digits
}
