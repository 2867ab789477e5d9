package spec

import (
	"slices"
	"strings"
)

const macFilter = "metadata/taproom:macFilter"

// MACFilters reads which NICs send with their own address alone, or need not: <macFilter mac='52:54:00:00:00:01' pin='yes'/> in
// <metadata>, in TaproomNamespace, once for each NIC. Without pin it is yes. The addresses are in lower case.
func (d *Domain) MACFilters() (map[string]bool, error) {
	if d.Metadata == nil || !strings.Contains(d.Metadata.Inner, "macFilter") {
		return nil, nil
	}
	all := map[string]bool{}
	var err error
	broken := d.Metadata.each(d.Extra.Attrs, func(t token, depth int, uri string) {
		if depth != 0 || t.kind != tokenStart || uri != TaproomNamespace || t.name[strings.IndexByte(t.name, ':')+1:] != "macFilter" || err != nil {
			return
		}
		mac, pin := "", "yes"
		for _, a := range t.attrs {
			switch {
			case a.Name.Local == "mac":
				mac = strings.ToLower(a.Value)
			case a.Name.Local == "pin":
				pin = a.Value
			case !isDeclaration(a):
				err = invalid(macFilter, "it has no attribute %s; there are mac and pin", a.Name.Local)
				return
			}
		}
		_, twice := all[mac]
		switch {
		case !d.hasNIC(mac):
			err = invalid(macFilter, "mac='%s' is no NIC of this guest; write the address of one, as in its <mac address=>", mac)
		case pin != "yes" && pin != "no":
			err = invalid(macFilter, "pin='%s' is neither yes nor no", pin)
		case twice:
			err = invalid(macFilter, "mac='%s' is given twice", mac)
		}
		all[mac] = pin == "yes"
	})
	if broken != nil {
		return nil, broken
	}
	return all, err
}

// hasNIC reports whether there is a NIC with an address.
func (d *Domain) hasNIC(mac string) bool {
	return d.Devices != nil && slices.ContainsFunc(d.Devices.Interfaces, func(n Interface) bool { return n.MAC != nil && strings.EqualFold(n.MAC.Address, mac) })
}

func (d *Domain) checkMACFilters() error {
	_, err := d.MACFilters()
	return err
}
