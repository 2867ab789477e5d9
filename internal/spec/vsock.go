package spec

// Vsock is the guest's end of sockets between it and the host (AF_VSOCK).
type Vsock struct {
	Model   string   `xml:"model,attr,omitempty"`
	CID     *CID     `xml:"cid"`
	Driver  *Element `xml:"driver"`
	Alias   *Alias   `xml:"alias"`
	Address *Address `xml:"address"`
	Extra
}

// CID is the number by which the host reaches a guest: Address, or, with auto='yes', whichever is free at a start.
type CID struct {
	Auto    string `xml:"auto,attr,omitempty"`
	Address string `xml:"address,attr,omitempty"`
	Extra
}

// The numbers that guests can have: 0 to 2 are the hypervisor's, its own and the host's, and the largest means any
// (linux/vm_sockets.h).
const (
	FirstCID = 3
	LastCID  = 1<<32 - 2
)

func vsockRules() map[string]rule {
	return map[string]rule{
		"devices/vsock/@model":       values("virtio virtio-non-transitional", "virtio-transitional"),
		"devices/vsock/cid/@auto":    yesNo(),
		"devices/vsock/cid/@address": number(FirstCID, LastCID),
	}
}

func (v *Vsock) check() error {
	if v != nil && v.CID != nil && v.CID.Auto == "no" && v.CID.Address == "" {
		return invalid("devices/vsock/cid/@address", "it is missing; give the guest a number from %d up, or say auto='yes'", FirstCID)
	}
	return nil
}
