package remote

import (
	"math"

	"taproom/internal/api/xdr"
)

// The types of a typed parameter.
const (
	ParamInt    = 1
	ParamUint   = 2
	ParamInt64  = 3
	ParamUint64 = 4
	ParamDouble = 5
	ParamBool   = 6
	ParamString = 7
)

// TypedParam is a named value of one of libvirt's types. It compares with ==.
type TypedParam struct {
	Field string
	Type  uint32
	N     uint64 // the number's bits (sign-extended for ParamInt, IEEE 754 for ParamDouble)
	S     string // ParamString
}

// IntParam is a 32-bit number.
func IntParam(field string, v int32) TypedParam {
	return TypedParam{Field: field, Type: ParamInt, N: uint64(int64(v))}
}

// UintParam is an unsigned 32-bit number.
func UintParam(field string, v uint32) TypedParam {
	return TypedParam{Field: field, Type: ParamUint, N: uint64(v)}
}

// Int64Param is a 64-bit number.
func Int64Param(field string, v int64) TypedParam {
	return TypedParam{Field: field, Type: ParamInt64, N: uint64(v)}
}

// Uint64Param is an unsigned 64-bit number.
func Uint64Param(field string, v uint64) TypedParam {
	return TypedParam{Field: field, Type: ParamUint64, N: v}
}

// DoubleParam is a floating-point number.
func DoubleParam(field string, v float64) TypedParam {
	return TypedParam{Field: field, Type: ParamDouble, N: math.Float64bits(v)}
}

// BoolParam is true or false.
func BoolParam(field string, v bool) TypedParam {
	p := TypedParam{Field: field, Type: ParamBool}
	if v {
		p.N = 1
	}
	return p
}

// StringParam is a text.
func StringParam(field, v string) TypedParam {
	return TypedParam{Field: field, Type: ParamString, S: v}
}

// XDR implements xdr.Value.
func (p *TypedParam) XDR(x *xdr.Coder) {
	x.String(&p.Field)
	x.Uint32(&p.Type)
	switch p.Type {
	case ParamInt, ParamBool:
		v := int32(p.N)
		x.Int32(&v)
		if x.Decoding() {
			p.N = uint64(int64(v))
		}
	case ParamUint:
		v := uint32(p.N)
		x.Uint32(&v)
		if x.Decoding() {
			p.N = uint64(v)
		}
	case ParamInt64, ParamUint64, ParamDouble:
		x.Uint64(&p.N)
	case ParamString:
		x.String(&p.S)
	default:
		x.Failf("typed parameter %q has unknown type %d", p.Field, p.Type)
	}
}
