package helper

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"taproom/internal/network/dhcp4"
	"taproom/internal/network/dhcp6"
	"taproom/internal/network/dns"
	"taproom/internal/network/ra"
	"taproom/internal/spec"
)

// Network is what is served on one bridge: plain data that compares by its JSON form. What is nil is not served.
type Network struct {
	UUID      spec.UUID  `json:"uuid"`
	Bridge    string     `json:"bridge"`
	LinkLocal netip.Addr `json:"link_local,omitzero"` // the bridge's IPv6 address that DHCPv6 and advertisements come from

	DHCP4 *dhcp4.Config `json:"dhcp4,omitempty"`
	DHCP6 *dhcp6.Config `json:"dhcp6,omitempty"`
	RA    *ra.Config    `json:"ra,omitempty"`
	DNS   *dns.Config   `json:"dns,omitempty"`
	TFTP  *TFTP         `json:"tftp,omitempty"`

	// Forwards are for a helper that may connect to guests; see HelperOptions.
	Forwards []Forward `json:"forwards,omitempty"`
}

// TFTP is a folder of the host that clients may read.
type TFTP struct {
	Root      string       `json:"root"`
	Addresses []netip.Addr `json:"addresses"` // of the bridge, where it is served
}

// InvalidError says what in a network cannot be served.
type InvalidError struct {
	Network spec.UUID
	Field   string
	Reason  string
}

// Error implements error.
func (e *InvalidError) Error() string {
	return fmt.Sprintf("serve network %s: %s: %s", e.Network, e.Field, e.Reason)
}

// JSON returns the one text form of the configuration.
func (n Network) JSON() []byte {
	b, err := json.Marshal(n)
	if err != nil { // only a type that has no JSON form fails, and there is none in Network
		return nil
	}
	return b
}

// Fingerprint tells two configurations apart. Equal networks have equal fingerprints.
func (n Network) Fingerprint() string {
	sum := sha256.Sum256(n.JSON())
	return hex.EncodeToString(sum[:])
}

// IsZero reports whether nothing is served.
func (n Network) IsZero() bool {
	return n.DHCP4 == nil && n.DHCP6 == nil && n.RA == nil && n.DNS == nil && n.TFTP == nil && len(n.Forwards) == 0
}

// Validate checks everything that the services rely on. Errors are *InvalidError.
func (n Network) Validate() error {
	switch {
	case n.UUID.IsZero():
		return &InvalidError{n.UUID, "uuid", "none given"}
	case (n.DHCP6 != nil || n.RA != nil) && !n.LinkLocal.IsLinkLocalUnicast():
		return &InvalidError{n.UUID, "link_local", "IPv6 is served from the bridge's link-local address, and none is given"}
	}
	var err error
	part := func(name string, validate func() error) {
		if err == nil {
			if verr := validate(); verr != nil {
				err = n.in(name, verr)
			}
		}
	}
	if n.DHCP4 != nil {
		part("dhcp4", n.DHCP4.Validate)
	}
	if n.DHCP6 != nil {
		part("dhcp6", n.DHCP6.Validate)
	}
	if n.RA != nil {
		part("ra", n.RA.Validate)
	}
	if n.DNS != nil {
		part("dns", n.DNS.Validate)
	}
	if n.TFTP != nil {
		part("tftp", n.TFTP.validate)
	}
	part("forwards", func() error { return checkForwards(n.Forwards) })
	return err
}

// in says in which part of the network a field is.
func (n Network) in(part string, err error) error {
	var v4 *dhcp4.FieldError
	var v6 *dhcp6.FieldError
	var adv *ra.FieldError
	var names *dns.FieldError
	field, reason := part, err.Error()
	switch {
	case errors.As(err, &v4):
		field, reason = part+"."+v4.Field, v4.Reason
	case errors.As(err, &v6):
		field, reason = part+"."+v6.Field, v6.Reason
	case errors.As(err, &adv):
		field, reason = part+"."+adv.Field, adv.Reason
	case errors.As(err, &names):
		field, reason = part+"."+names.Field, names.Reason
	}
	return &InvalidError{n.UUID, field, reason}
}

func (t TFTP) validate() error {
	switch {
	case !strings.HasPrefix(t.Root, "/"):
		return fmt.Errorf("root %q is no absolute path", t.Root)
	case len(t.Addresses) == 0:
		return errors.New("no address to serve it at")
	}
	return nil
}
