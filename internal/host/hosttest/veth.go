package hosttest

import "strconv"

// Veth connects two namespaces by a pair of links, both up, and declares them as kept. Addresses are the caller's.
func Veth(a *NS, nameA string, b *NS, nameB string) {
	a.t.Helper()
	a.Run("ip", "link", "add", "name", nameA, "type", "veth", "peer", "name", nameB, "netns", strconv.Itoa(b.tid))
	a.Run("ip", "link", "set", "dev", nameA, "up")
	b.Run("ip", "link", "set", "dev", nameB, "up")
	a.Keep("link " + nameA)
	b.Keep("link " + nameB)
}
