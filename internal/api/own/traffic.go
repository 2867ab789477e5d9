package own

// TrafficRequest names a network; without one, all that are active are meant.
type TrafficRequest struct {
	Network string `json:"network,omitempty"` // name or UUID
}

// TrafficResult is what was forwarded for networks, by name.
type TrafficResult struct {
	Networks []NetworkTraffic `json:"networks"`
}

// NetworkTraffic is what was forwarded between a network's guests and what is beyond its bridge, since the network was started
// or its rules were made anew.
type NetworkTraffic struct {
	Network         string `json:"network"`
	Bridge          string `json:"bridge"`
	SentPackets     uint64 `json:"sent_packets"` // by guests
	SentBytes       uint64 `json:"sent_bytes"`
	ReceivedPackets uint64 `json:"received_packets"`
	ReceivedBytes   uint64 `json:"received_bytes"`
}
