package nwfilters

import (
	"errors"
	"net/netip"
	"slices"
	"strings"

	"taproom/internal/network/nwfilter"
	"taproom/internal/network/nwfilter/learn"
	"taproom/internal/spec"
)

// Variables that are given values here, beside those of a NIC's document.
const (
	varMAC  = "MAC"
	varIPv4 = "IP"
	varIPv6 = "IPV6"
	// varPin is the NIC's own address, whatever its document says of MAC.
	varPin = "TAPROOM_MAC"
	// varLearning says how addresses that no document names are learned (libvirt, formatnwfilter.html).
	varLearning = "CTRL_IP_LEARNING"
	// varServers are the DHCP servers that are believed.
	varServers = "DHCPSERVER"
)

// errMissing is of a filter that is not there.
var errMissing = errors.New("there is no filter of that name; define it first (virsh nwfilter-define)")

// compile is what the back end is to have for a link.
func compile(c *compilers, b Binding) (nwfilter.Port, error) {
	if b.Filter != "" && c.set[b.Filter] == nil {
		return nwfilter.Port{}, errMissing
	}
	params := nwfilter.Params{}
	for _, p := range b.Params {
		params[p.Name] = append(params[p.Name], p.Value)
	}
	if params[varMAC] == nil {
		params[varMAC] = []string{strings.ToLower(b.MAC)}
	}
	root := b.Filter
	var made []*spec.Filter
	learning, err := b.learning(c)
	if err != nil {
		return nwfilter.Port{}, err
	}
	if learning != nil {
		root, made = learning.Name, append(made, learning)
	}
	if mode, err := b.mode(); err == nil && mode != learn.None {
		addresses(params, b.Learned)
	}
	if b.PinMAC {
		doc, err := pin(root)
		if err != nil {
			return nwfilter.Port{}, err
		}
		params[varPin] = []string{strings.ToLower(b.MAC)}
		root, made = doc.Name, append(made, doc)
	}
	program, values, err := c.with(made...).Compile(root, params)
	if err != nil {
		return nwfilter.Port{}, err
	}
	return nwfilter.Port{Name: b.Port, Program: program, Values: values}, nil
}

// addresses gives the variables of addresses that no document names those that are known of the NIC. As long as there are
// none they are the unspecified addresses, which no guest can have.
func addresses(params nwfilter.Params, known []netip.Addr) {
	for name, unspecified := range map[string]netip.Addr{varIPv4: netip.IPv4Unspecified(), varIPv6: netip.IPv6Unspecified()} {
		if params[name] != nil {
			continue
		}
		for _, a := range known {
			if a.Is4() == unspecified.Is4() {
				params[name] = append(params[name], a.String())
			}
		}
		if params[name] == nil {
			params[name] = []string{unspecified.String()}
		}
	}
}

// learning is the filter that judges a NIC's frames as long as its own asks for an address that has to be learned first; nil is
// none. It lets the packets pass from which addresses are learned.
func (b Binding) learning(c *compilers) (*spec.Filter, error) {
	if b.Filter == "" {
		return nil, nil
	}
	mode, err := b.learns(c)
	if err != nil || mode == learn.None || len(b.Learned) > 0 || b.Values(varIPv4) != nil || !c.asks(b.Filter, varIPv4) {
		return nil, err
	}
	return nwfilter.Learning(mode == learn.DHCP, b.Values(varServers) != nil)
}

// asks reports whether a filter, or one that it leads to, has a variable.
func (c *compilers) asks(root, variable string) bool {
	names, err := c.asked(root)
	return err == nil && slices.Contains(names, variable)
}

// mode is how the addresses of a NIC are learned that its document does not name.
func (b Binding) mode() (learn.Mode, error) {
	return learn.ParseMode(strings.ToLower(strings.Join(b.Values(varLearning), ",")))
}

// pin is a filter that lets a guest send with its own address alone, and then has another filter judge; "" is none.
func pin(then string) (*spec.Filter, error) {
	doc, err := spec.ParseFilter([]byte(`<filter name='taproom-mac-filter' chain='root'>
  <rule action='drop' direction='out' priority='-1000'>
    <mac match='no' srcmacaddr='$` + varPin + `'/>
  </rule>
</filter>`))
	if err != nil || then == "" {
		return doc, err
	}
	doc.Name += "+" + then
	doc.Entries = append(doc.Entries, spec.FilterEntry{Ref: &spec.FilterRef{Filter: then}})
	return doc, nil
}

// closed lets nothing pass.
func closed(b Binding) (nwfilter.Port, error) {
	doc, err := spec.ParseFilter([]byte(`<filter name='taproom-closed' chain='root'><rule action='drop' direction='inout' priority='-1000'/></filter>`))
	if err != nil {
		return nwfilter.Port{}, err
	}
	program, values, err := nwfilter.Compile(nwfilter.Set{doc.Name: doc}, doc.Name, nwfilter.Params{varMAC: {b.MAC}})
	return nwfilter.Port{Name: b.Port, Program: program, Values: values}, err
}
