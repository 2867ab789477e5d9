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
// or its rules were made anew, and what passed the NICs of guests that run.
type NetworkTraffic struct {
	Network string `json:"network"`
	Bridge  string `json:"bridge"` // "" where guests are on a link of the host
	// Counted says that the network's packets meet rules of ours; else the four numbers that follow are nobody's count.
	Counted         bool         `json:"counted"`
	SentPackets     uint64       `json:"sent_packets"` // by guests
	SentBytes       uint64       `json:"sent_bytes"`
	ReceivedPackets uint64       `json:"received_packets"`
	ReceivedBytes   uint64       `json:"received_bytes"`
	NICs            []NICTraffic `json:"nics"`
}

// NICTraffic is what passed one NIC since it was plugged in, by the counters of its link: all frames, also those that stay on the
// bridge. Sent and received are the guest's own words, as in virsh domifstat.
type NICTraffic struct {
	Guest           string `json:"guest"`
	MAC             string `json:"mac"`
	Link            string `json:"link"`
	SentPackets     uint64 `json:"sent_packets"`
	SentBytes       uint64 `json:"sent_bytes"`
	ReceivedPackets uint64 `json:"received_packets"`
	ReceivedBytes   uint64 `json:"received_bytes"`
	SentDropped     uint64 `json:"sent_dropped"`     // by the host, when they came from the guest
	ReceivedDropped uint64 `json:"received_dropped"` // as the guest did not take them off its queue in time
}
