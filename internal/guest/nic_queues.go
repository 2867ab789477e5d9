package guest

import "taproom/internal/spec"

// NICQueues is how many pairs of queues a NIC of a completed document has, and so how many descriptors of its link QEMU
// gets. Where the document says nonsense it is 1, and compiling it says so.
func NICQueues(n *spec.Interface) int {
	q, err := nicQueues(n, 0)
	if err != nil {
		return 1
	}
	return q
}
