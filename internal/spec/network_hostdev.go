package spec

// ForwardAddress is a function of a NIC on the host's PCI bus, which a guest gets whole.
type ForwardAddress struct {
	Type     string `xml:"type,attr"`
	Domain   string `xml:"domain,attr,omitempty"`
	Bus      string `xml:"bus,attr,omitempty"`
	Slot     string `xml:"slot,attr,omitempty"`
	Function string `xml:"function,attr,omitempty"`
	Extra
}

// ForwardDriver is what functions are bound to while guests have them.
type ForwardDriver struct {
	Name  string `xml:"name,attr,omitempty"`
	Model string `xml:"model,attr,omitempty"`
	Extra
}

// hostdevRules judges what hands out functions of PCI devices.
func hostdevRules() map[string]rule {
	return map[string]rule{
		"forward/@managed":          yesNo(),
		"forward/driver/@name":      values("vfio", "kvm xen"),
		"forward/address/@type":     values("pci", ""),
		"forward/address/@domain":   place(0xffff),
		"forward/address/@bus":      place(0xff),
		"forward/address/@slot":     place(0x1f),
		"forward/address/@function": place(7),
	}
}

// checkPools checks what is handed out: one NIC's functions, or links, or functions by their addresses.
func (f *Forward) checkPools(mode string) error {
	links, kinds := f.Uplinks(), 0
	for _, n := range []int{len(links), len(f.PFs), len(f.Addresses)} {
		if n > 0 {
			kinds++
		}
	}
	hands := mode == "bridge" || mode == "private" || mode == "vepa" || mode == "passthrough"
	switch {
	case kinds > 1:
		return unsupported("forward", "<address>, <interface> and <pf> exclude each other; use one kind")
	case len(f.PFs) > 1:
		return invalid("forward/pf", "there are %d; functions of one NIC are handed out, not of several", len(f.PFs))
	case len(f.PFs) == 1 && !linkName(f.PFs[0].Dev):
		return invalid("forward/pf/@dev", "%q is no name of a link (1 to 15 characters, no '/', no white space)", f.PFs[0].Dev)
	case len(f.PFs) == 1 && !hands && mode != "hostdev":
		return unsupported("forward/pf", "mode %s hands out nothing; leave it out", mode)
	case len(f.Addresses) > 0 && mode != "hostdev":
		return unsupported("forward/address", "it is for mode hostdev; name links with <interface dev='…'/>")
	case mode != "hostdev":
		return nil
	case len(links) > 0:
		return unsupported("forward/interface", "mode hostdev takes functions by their <address>, or all of one NIC by <pf dev='…'/>, not by links")
	case kinds == 0:
		return invalid("forward", "mode hostdev needs a <pf dev='…'/>, or at least one <address type='pci' …/>")
	}
	return nil
}
