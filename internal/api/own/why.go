package own

// WhyRequest asks what becomes of a packet that a guest sends.
type WhyRequest struct {
	Object string `json:"object"`         // name or UUID of a network or a guest
	To     string `json:"to,omitempty"`   // address of the destination; "" is one outside that nobody has
	Port   uint16 `json:"port,omitempty"` // TCP; 0 with To is an echo
	Fix    bool   `json:"fix,omitempty"`  // remove what is in the way, where it is known how
}

// WhyResult is what was found, for the network or for each NIC of the guest.
type WhyResult struct {
	Reports []WhyReport `json:"reports"`
	Done    []string    `json:"done,omitempty"` // commands that were run, with Fix
}

// WhyReport is what becomes of one packet.
type WhyReport struct {
	Object   string       `json:"object"`
	Bridge   string       `json:"bridge"`
	Link     string       `json:"link,omitempty"` // of the guest's NIC
	Source   string       `json:"source"`
	To       string       `json:"to"`
	Port     uint16       `json:"port,omitempty"`
	Arrives  bool         `json:"arrives"` // nothing on this host is in the way
	Verdict  string       `json:"verdict"`
	Passed   []string     `json:"passed,omitempty"` // rules and policies that let it pass
	Findings []WhyFinding `json:"findings,omitempty"`
	Untold   string       `json:"untold,omitempty"`  // why no probe was sent; then rules were only read
	Forward  *WhyForward  `json:"forward,omitempty"` // the port of the host that takes it
}

// WhyForward is a port of the host that a packet is for, which a network of taproom's has lead to a guest.
type WhyForward struct {
	Network string `json:"network"`           // whose forward it is
	Guest   string `json:"guest"`             // as its document names it: a name in quotes, or an address
	Address string `json:"address,omitempty"` // where it leads now; "" is nowhere
	Port    uint16 `json:"port,omitempty"`
}

// WhyFinding is one thing that is in the way, or may be.
type WhyFinding struct {
	Code    string `json:"code"`
	Lost    bool   `json:"lost"`
	Words   string `json:"words"`
	Whose   string `json:"whose,omitempty"`
	Where   string `json:"where,omitempty"`
	Fix     string `json:"fix,omitempty"`
	Fixable bool   `json:"fixable,omitempty"` // with Fix
}
