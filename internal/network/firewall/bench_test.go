package firewall_test

import (
	"fmt"
	"testing"

	"taproom/internal/network/firewall"
)

// A join beside a thousand networks; the promise is that it costs what it costs beside none.
func BenchmarkJoin(b *testing.B) {
	for _, present := range []int{0, 1000} {
		b.Run(fmt.Sprint(present), func(b *testing.B) {
			ns, c := open(b)
			ns.Keep("table ip taproom", "table ip6 taproom")
			f := firewall.New(c, firewall.DefaultTable)
			many := network("stays", "10.255.255.0", 24)
			for i := range present {
				many = append(many, network(fmt.Sprintf("b%d", i), fmt.Sprintf("10.%d.%d.0", i>>8, i&255), 24)...)
			}
			apply(b, f, many, nil)
			apply(b, f, routed("stays", "fd00::", 64), nil)
			for family, x := range map[string][]element{
				"ip": network("joins", "192.168.122.0", 24), "both": append(network("joins", "192.168.122.0", 24), routed("joins", "fd00:1::", 64)...),
			} {
				b.Run(family, func(b *testing.B) {
					for range b.N {
						apply(b, f, x, nil)
						b.StopTimer()
						apply(b, f, nil, x)
						b.StartTimer()
					}
				})
			}
		})
	}
}
