package own

import "encoding/json"

// FiltersResult is which network filters there are, and the NICs that have one, both by name.
type FiltersResult struct {
	Filters []Filter    `json:"filters"`
	NICs    []FilterNIC `json:"nics"`
}

// Filter is one network filter.
type Filter struct {
	Name    string   `json:"name"`
	UUID    string   `json:"uuid"`
	Shipped bool     `json:"shipped"`          // it came with taproom and was not changed
	Refers  []string `json:"refers,omitempty"` // to other filters, in its order
	NICs    int      `json:"nics"`             // that use it, also through others
}

// FilterNIC is what one NIC has.
type FilterNIC struct {
	Guest  string `json:"guest"`
	MAC    string `json:"mac"`
	Link   string `json:"link"` // on the host
	Filter string `json:"filter,omitempty"`
	Pinned bool   `json:"pinned,omitempty"` // it sends with its own address alone
	// Values are those of its variables, by name.
	Values map[string][]string `json:"values,omitempty"`
	// Learning is how addresses are learned that no document names: any or dhcp; "" is not.
	Learning string   `json:"learning,omitempty"`
	Learned  []string `json:"learned,omitempty"`
	Client   bool     `json:"client,omitempty"` // a client bound it to a link of its own
}

// FilterShowRequest names a guest.
type FilterShowRequest struct {
	Guest string `json:"guest"` // name or UUID
}

// FilterShowResult is what judges the frames of a guest's NICs.
type FilterShowResult struct {
	NICs []FilterProgram `json:"nics"`
}

// FilterProgram is what the filter of one NIC was compiled to: chains and rules in the order in which they are met.
type FilterProgram struct {
	FilterNIC
	Key  string `json:"key"` // NICs with the same key share their rules, and counters
	Text string `json:"text"`
}

// FilterStatsRequest names a guest; without one, all NICs are meant.
type FilterStatsRequest struct {
	Guest string `json:"guest,omitempty"`
}

// FilterStatsResult is how often each rule was met.
type FilterStatsResult struct {
	Rules []FilterCount `json:"rules"`
}

// FilterCount is how often one rule was met, by all NICs that share it, since their rules were made.
type FilterCount struct {
	Key     string   `json:"key"`
	Links   []string `json:"links"`
	Chain   string   `json:"chain"`  // "" is where packets of IPv4 and IPv6 are looked at
	Filter  string   `json:"filter"` // whose rule it is
	Index   int      `json:"index"`  // among that filter's rules, from 1
	Rule    string   `json:"rule"`
	Packets uint64   `json:"packets"`
	Bytes   uint64   `json:"bytes"`
}

// FilterAsk is a frame as a person puts it. Exactly one of Frame, TCP, UDP, ICMP and ARP is given.
type FilterAsk struct {
	In          bool   `json:"in,omitempty"`          // to the guest; else from it
	Frame       string `json:"frame,omitempty"`       // hexadecimal digits
	TCP         string `json:"tcp,omitempty"`         // SRC:PORT,DST:PORT[,FLAG…]
	UDP         string `json:"udp,omitempty"`         // SRC:PORT,DST:PORT
	ICMP        string `json:"icmp,omitempty"`        // SRC,DST[,TYPE[/CODE]]
	ARP         string `json:"arp,omitempty"`         // request,SRC,DST or reply,SRC,DST
	SrcMAC      string `json:"src_mac,omitempty"`     // where it is not the guest's own, or the other side's
	DstMAC      string `json:"dst_mac,omitempty"`     // likewise
	State       string `json:"state,omitempty"`       // of its connection: new, established, related or invalid
	Reply       bool   `json:"reply,omitempty"`       // it goes against the direction of the connection
	Connections uint32 `json:"connections,omitempty"` // that there are, this one included
}

// FilterExplainRequest asks what the filters of a guest's NICs would do with a frame.
type FilterExplainRequest struct {
	Guest string    `json:"guest"`         // name or UUID
	MAC   string    `json:"mac,omitempty"` // of one NIC; "" is all that have a filter
	Ask   FilterAsk `json:"ask"`
}

// FilterExplainResult is what each NIC's would.
type FilterExplainResult struct {
	NICs []FilterExplanation `json:"nics"`
}

// FilterExplanation is what becomes of the frame at one NIC.
type FilterExplanation struct {
	FilterNIC
	Passes bool            `json:"passes"`
	Text   string          `json:"text"`   // for people
	Answer json.RawMessage `json:"answer"` // the verdict, the rule that decided, and the rules that were met
}
