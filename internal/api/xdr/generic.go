package xdr

// pointer is a *T that describes itself.
type pointer[T any] interface {
	*T
	Value
}

// Slice is an array of up to max elements. Every element takes at least four bytes of the message, which bounds what is
// allocated before the elements have been seen.
func Slice[T any, P pointer[T]](x *Coder, s *[]T, max int) {
	n := x.length(len(*s), max)
	if x.err != nil {
		return
	}
	if x.decode {
		if n > (len(x.buf)-x.pos)/4 {
			x.Failf("array of %d elements in %d bytes", n, len(x.buf)-x.pos)
			return
		}
		// Grow as elements arrive: a type may be a hundred times larger in memory than on the wire.
		*s = make([]T, 0, min(n, 64))
		for range n {
			var v T
			P(&v).XDR(x)
			if x.err != nil {
				return
			}
			*s = append(*s, v)
		}
		return
	}
	for i := range *s {
		P(&(*s)[i]).XDR(x)
	}
}

// Optional is a value that may be absent.
func Optional[T any, P pointer[T]](x *Coder, p **T) {
	present := *p != nil
	x.Bool(&present)
	if x.err != nil {
		return
	}
	if x.decode {
		*p = nil
		if present {
			*p = new(T)
		}
	}
	if !present {
		return
	}
	P(*p).XDR(x)
}

// OptString is a string that may be absent; absent and empty are the same to us unless set is asked.
func (x *Coder) OptString(s *string, set *bool) {
	x.Bool(set)
	if x.err == nil && *set {
		x.String(s)
	}
}

// Strings is an array of strings.
func (x *Coder) Strings(s *[]string, max int) {
	n := x.length(len(*s), max)
	if x.decode && x.err == nil {
		if n > (len(x.buf)-x.pos)/4 {
			x.Failf("array of %d strings in %d bytes", n, len(x.buf)-x.pos)
			return
		}
		*s = make([]string, n)
	}
	for i := range *s {
		x.String(&(*s)[i])
	}
}

// Int32s is an array of ints.
func (x *Coder) Int32s(s *[]int32, max int) {
	n := x.length(len(*s), max)
	if x.decode && x.err == nil {
		if n > (len(x.buf)-x.pos)/4 {
			x.Failf("array of %d ints in %d bytes", n, len(x.buf)-x.pos)
			return
		}
		*s = make([]int32, n)
	}
	for i := range *s {
		x.Int32(&(*s)[i])
	}
}
