package own

// ForwardsRequest names a network; without one, all are meant.
type ForwardsRequest struct {
	Network string `json:"network,omitempty"` // name or UUID
}

// ForwardsResult is which ports of the host lead to guests, by network, in the order of their documents.
type ForwardsResult struct {
	Forwards []Forward `json:"forwards"`
}

// Forward is ports of the host that lead to a guest.
type Forward struct {
	Network  string   `json:"network"`
	Protocol string   `json:"protocol"`          // tcp or udp
	Address  string   `json:"address,omitempty"` // of the host; none is every one
	Port     uint16   `json:"port"`
	End      uint16   `json:"end"` // the last one
	To       string   `json:"to"`  // as the document has it
	ToPort   uint16   `json:"to_port"`
	Live     []string `json:"live"`          // addresses of the guest that they lead to now
	Why      string   `json:"why,omitempty"` // there is none
}
