package probe

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

const unshaped = "bandwidth limits of guests are refused"

func qdiscFeatures() []Feature {
	root := func(base int) netlink.QdiscAttrs {
		return netlink.QdiscAttrs{LinkIndex: base, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT}
	}
	qdisc := func(make func(netlink.QdiscAttrs) netlink.Qdisc) func(int) error {
		return func(base int) error { return netlink.QdiscAdd(make(root(base))) }
	}
	return []Feature{
		{"htb", "CONFIG_NET_SCH_HTB", unshaped, false, qdisc(func(a netlink.QdiscAttrs) netlink.Qdisc { return netlink.NewHtb(a) })},
		{"tbf", "CONFIG_NET_SCH_TBF", unshaped, false, qdisc(func(a netlink.QdiscAttrs) netlink.Qdisc {
			return &netlink.Tbf{QdiscAttrs: a, Rate: 1 << 20, Limit: 1 << 20, Buffer: 1 << 20}
		})},
		{"fq_codel", "CONFIG_NET_SCH_FQ_CODEL", "flows of a shaped NIC wait for each other", false, qdisc(func(a netlink.QdiscAttrs) netlink.Qdisc {
			return netlink.NewFqCodel(a)
		})},
		{"clsact", "CONFIG_NET_SCH_INGRESS", "what guests send is not shaped", false, addClsact},
	}
}

func addClsact(base int) error {
	return netlink.QdiscAdd(&netlink.Clsact{QdiscAttrs: netlink.QdiscAttrs{
		LinkIndex: base, Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_CLSACT,
	}})
}

func filterFeatures() []Feature {
	attrs := func(base int) netlink.FilterAttrs {
		return netlink.FilterAttrs{LinkIndex: base, Parent: netlink.HANDLE_MIN_INGRESS, Priority: 1, Protocol: unix.ETH_P_ALL}
	}
	filter := func(make func(a netlink.FilterAttrs) netlink.Filter) func(int) error {
		return func(base int) error {
			if err := addClsact(base); err != nil {
				// Without clsact no filter can be tried; only clsact's own line says what is missing.
				return &needsClsact{err}
			}
			return netlink.FilterAdd(make(attrs(base)))
		}
	}
	u32 := func(actions ...netlink.Action) func(netlink.FilterAttrs) netlink.Filter {
		return func(a netlink.FilterAttrs) netlink.Filter { return &netlink.U32{FilterAttrs: a, Actions: actions} }
	}
	police := netlink.NewPoliceAction()
	police.Rate, police.Burst = 1<<20, 1<<16
	police.ExceedAction = netlink.TC_POLICE_SHOT
	return []Feature{
		{"cls_u32", "CONFIG_NET_CLS_U32", "what guests send is not shaped", false, filter(u32())},
		{"cls_bpf", "CONFIG_NET_CLS_BPF and CONFIG_BPF_SYSCALL", "networks are isolated for as long as nobody removes the firewall's rules", false, tryFence},
		{"cls_flower", "CONFIG_NET_CLS_FLOWER", "guaranteed rates (floor) are refused", false, filter(func(a netlink.FilterAttrs) netlink.Filter {
			a.Protocol = unix.ETH_P_IP
			return &netlink.Flower{FilterAttrs: a, EthType: unix.ETH_P_IP}
		})},
		{"act_police", "CONFIG_NET_ACT_POLICE", "rates cannot be policed by tc", false, filter(u32(police))},
		{"act_mirred", "CONFIG_NET_ACT_MIRRED", "what guests send is not shaped", false, filter(u32(netlink.NewMirredAction(1)))},
	}
}

// needsClsact hides its cause from errors.Is on purpose: it must not count as the filter missing.
type needsClsact struct{ cause error }

// Error says what could not be tried.
func (e *needsClsact) Error() string {
	return fmt.Sprintf("not tried: %v", errors.Join(errors.New("clsact is needed for it"), e.cause))
}
