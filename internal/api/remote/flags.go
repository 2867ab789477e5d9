package remote

// Flagged is the arguments of a call that has flags which change what it does.
type Flagged interface {
	// CallFlags returns the flags.
	CallFlags() uint32
}

// CallFlags implements Flagged.
func (v *DomainFlags) CallFlags() uint32 { return v.Flags }

// CallFlags implements Flagged.
func (v *DomainUintFlags) CallFlags() uint32 { return v.Flags }

// CallFlags implements Flagged.
func (v *DomainUint64Flags) CallFlags() uint32 { return v.Flags }

// CallFlags implements Flagged.
func (v *DomainStringFlags) CallFlags() uint32 { return v.Flags }

// CallFlags implements Flagged.
func (v *DomainOptStringFlags) CallFlags() uint32 { return v.Flags }

// CallFlags implements Flagged.
func (v *ParamsArgs) CallFlags() uint32 { return v.Flags }

// CallFlags implements Flagged.
func (v *NetworkFlags) CallFlags() uint32 { return v.Flags }

// CallFlags implements Flagged.
func (v *NetworkUpdate) CallFlags() uint32 { return v.Flags }

// CallFlags implements Flagged.
func (v *StringFlags) CallFlags() uint32 { return v.Flags }
