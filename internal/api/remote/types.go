package remote

import (
	"taproom/internal/api/xdr"
	"taproom/internal/spec"
)

// OptString is a remote_string: it may be absent.
type OptString struct {
	S   string
	Set bool
}

// Opt is a string that is present.
func Opt(s string) OptString { return OptString{S: s, Set: true} }

// OptNonEmpty is a string that is absent when it is empty.
func OptNonEmpty(s string) OptString { return OptString{S: s, Set: s != ""} }

// XDR implements xdr.Value.
func (o *OptString) XDR(x *xdr.Coder) { x.OptString(&o.S, &o.Set) }

// Domain is a handle of a domain.
type Domain struct {
	Name string
	UUID spec.UUID
	ID   int32
}

// XDR implements xdr.Value.
func (d *Domain) XDR(x *xdr.Coder) {
	x.String(&d.Name)
	x.Fixed(d.UUID[:])
	x.Int32(&d.ID)
}

// Network is a handle of a network, and of everything else that has a name and a UUID: storage pools, filters.
type Network struct {
	Name string
	UUID spec.UUID
}

// XDR implements xdr.Value.
func (n *Network) XDR(x *xdr.Coder) {
	x.String(&n.Name)
	x.Fixed(n.UUID[:])
}

// Int is one int.
type Int struct{ N int32 }

// XDR implements xdr.Value.
func (v *Int) XDR(x *xdr.Coder) { x.Int32(&v.N) }

// Uint is one unsigned int.
type Uint struct{ N uint32 }

// XDR implements xdr.Value.
func (v *Uint) XDR(x *xdr.Coder) { x.Uint32(&v.N) }

// Uint64 is one unsigned hyper.
type Uint64 struct{ N uint64 }

// XDR implements xdr.Value.
func (v *Uint64) XDR(x *xdr.Coder) { x.Uint64(&v.N) }

// String is one string.
type String struct{ S string }

// XDR implements xdr.Value.
func (v *String) XDR(x *xdr.Coder) { x.String(&v.S) }

// Strings is an array of strings: old lists of names, messages.
type Strings struct{ S []string }

// XDR implements xdr.Value.
func (v *Strings) XDR(x *xdr.Coder) { x.Strings(&v.S, MaxList) }

// Ints is an array of ints: old lists of IDs, authentication types.
type Ints struct{ N []int32 }

// XDR implements xdr.Value.
func (v *Ints) XDR(x *xdr.Coder) { x.Int32s(&v.N, MaxList) }

// UUID is one UUID.
type UUID struct{ UUID spec.UUID }

// XDR implements xdr.Value.
func (v *UUID) XDR(x *xdr.Coder) { x.Fixed(v.UUID[:]) }

// StringFlags is a document or a name, and flags.
type StringFlags struct {
	S     string
	Flags uint32
}

// XDR implements xdr.Value.
func (v *StringFlags) XDR(x *xdr.Coder) {
	x.String(&v.S)
	x.Uint32(&v.Flags)
}

// OptStringFlags is a name that may be absent, and flags.
type OptStringFlags struct {
	S     OptString
	Flags uint32
}

// XDR implements xdr.Value.
func (v *OptStringFlags) XDR(x *xdr.Coder) {
	v.S.XDR(x)
	x.Uint32(&v.Flags)
}

// NeedFlags begins every "list all": without Need only the count is answered.
type NeedFlags struct {
	Need  int32
	Flags uint32
}

// XDR implements xdr.Value.
func (v *NeedFlags) XDR(x *xdr.Coder) {
	x.Int32(&v.Need)
	x.Uint32(&v.Flags)
}

// Limits of arrays (constants of libvirt's protocol).
const (
	MaxList        = 16384
	MaxParams      = 2048
	MaxStats       = 262144
	MaxLeases      = 65536
	MaxInterfaces  = 2048
	MaxAddresses   = 2048
	MaxModels      = 8192
	MaxMemoryStats = 1024
	MaxNodeStats   = 16
	MaxVCPUs       = 16384
	MaxCPUMaps     = 8 << 20
	MaxCPUMap      = 2048
	MaxChars       = 4097 // a security label
)

// Empty is the answer of a "list all" that has nothing: no elements, count zero.
type Empty struct{}

// XDR implements xdr.Value.
func (*Empty) XDR(x *xdr.Coder) {
	var elements, count uint32
	x.Uint32(&elements)
	x.Uint32(&count)
	if elements != 0 {
		x.Failf("list has %d elements, expected none", elements)
	}
}

// chars is a C character array of variable length: every character travels as an int.
func chars(x *xdr.Coder, s *string) {
	var codes []int32
	if !x.Decoding() {
		codes = make([]int32, len(*s))
		for i := range len(*s) {
			codes[i] = int32(int8((*s)[i]))
		}
	}
	x.Int32s(&codes, MaxChars)
	if x.Decoding() {
		b := make([]byte, len(codes))
		for i, c := range codes {
			b[i] = byte(c)
		}
		*s = string(b)
	}
}
