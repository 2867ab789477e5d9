package wire

// Share asks the guest to mount a folder of the host, and to write a file in it, to read one, or neither.
type Share struct {
	Tag   string `json:"tag"`
	Write string `json:"write,omitempty"` // name of a file
	Text  string `json:"text,omitempty"`  // what is written
	Read  string `json:"read,omitempty"`  // name of a file
}

// ShareResult is the beginning of the file that was read.
type ShareResult struct {
	Text string `json:"text,omitempty"`
}
