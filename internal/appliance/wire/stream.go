package wire

// Operations with traffic that lasts, whose rate somebody measures.
const (
	OpSend  Op = "send"
	OpSink  Op = "sink"
	OpMeter Op = "meter"
)

// Send asks the guest to send for so long, or until the other end hangs up. The answer comes when it has begun.
type Send struct {
	Protocol string  `json:"protocol"` // tcp or udp
	Address  string  `json:"address"`  // host:port
	Streams  int     `json:"streams"`  // tcp: connections at once
	Size     int     `json:"size"`     // udp: bytes in each datagram
	Rate     float64 `json:"rate"`     // udp: bytes of payload a second
	Seconds  int     `json:"seconds"`
}

// Sink asks the guest to take what comes on a port, and to count it, until it is powered off.
type Sink struct {
	Protocol string `json:"protocol"`
}

// Meter asks what came on the port of a sink.
type Meter struct {
	Protocol string `json:"protocol"`
	Port     int    `json:"port"`
}

// Metered is what a sink has taken.
type Metered struct {
	Bytes int64 `json:"bytes"`
	Nanos int64 `json:"nanos"` // by the guest's clock: when the last of it came
}
