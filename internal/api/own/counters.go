package own

// Counters are the answer of a daemon that counts (taproomd --counters): totals since it started. The difference of two answers
// is the cost of an operation between them, and of reading them.
type Counters struct {
	Calls     map[string]uint64 `json:"calls"`            // into the host, by name
	Netlink   uint64            `json:"netlink_messages"` // that were sent to the kernel
	Allocated uint64            `json:"allocated_bytes"`  // on the heap, freed or not
}
