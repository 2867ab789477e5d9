package badinput

import (
	"fmt"
	"strings"
	"testing"

	"taproom/internal/api/virterr"
)

// filter is a document of a network filter.
func filter(name, inside string) string {
	return fmt.Sprintf("<filter name='%s' chain='root'>%s</filter>", name, inside)
}

// rule is a filter with one rule.
func rule(element string) string {
	return filter("broken", "<rule action='drop' direction='in'>"+element+"</rule>")
}

func refers(to string) string { return "<filterref filter='" + to + "'/>" }

func (w *world) defineFilter(doc string) error {
	_, err := w.c.DefineNWFilter(w.t.Context(), doc)
	return err
}

// screened is a guest whose NIC has a filter.
func screened(name, parameters string) string {
	return guest("broken", "<interface type='network'><mac address='52:54:00:00:00:07'/><source network='quiet'/><model type='virtio'/><rom enabled='no'/><filterref filter='"+
		name+"'>"+parameters+"</filterref></interface>")
}

func TestNetworkFilters_BadDocumentsAreRefusedByName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, doc := range []string{filter("loop1", refers("clean-traffic")), filter("loop2", refers("loop1")), filter("asks", "<rule action='drop' direction='in'><tcp dstportstart='$PORT'/></rule>")} {
		must(t, w.defineFilter(doc))
	}
	document := func(doc string) func() error { return func() error { return w.defineFilter(doc) } }
	nic := func(name, parameters string) func() error {
		return func() error { return w.create(screened(name, parameters)) }
	}
	w.refuse(t, []bad{
		{"refers to itself", document(filter("broken", refers("broken"))), virterr.OperationFailed, "operation failed: network filter 'broken': filter broken refers to itself: broken → broken; take one of the references out"},
		{"refers to itself through another", document(filter("loop1", refers("loop2"))), virterr.OperationFailed, "operation failed: network filter 'loop1': filter loop1 refers to itself: loop1 → loop2 → loop1; take one of the references out"},
		{"refers to none", document(filter("broken", refers("nowhere"))), virterr.OperationFailed, "operation failed: network filter 'broken': filter nowhere is not defined, and broken → nowhere refers to it; define it, or take the reference out"},
		{"no name", document(filter("", "")), virterr.XMLError, "XML error: filter : invalid @name: it is missing"},
		{"a network", document(network("broken", "virbr-x", "10.1.2")), virterr.XMLDetail, "XML error: line 1: root element is <network>, want <filter>"},
		{"entity bomb", document(bomb("filter")), virterr.XMLDetail, "XML error: line 2: document type declarations and entities are not accepted"},
		{"unknown chain", document(strings.Replace(filter("broken", ""), "'root'", "'tcp'", 1)), virterr.XMLError, "XML error: filter broken: invalid @chain: \"tcp\" is not known; use root, or a name that begins with mac, vlan, stp, arp, rarp, ipv4 or ipv6 and has at most 16 letters, digits, '_', '-', '.' or ':'"},
		{"unknown action", document(strings.Replace(rule("<tcp/>"), "'drop'", "'explode'", 1)), virterr.XMLError, "XML error: filter broken: invalid rule/@action: it is \"explode\"; use accept, drop, reject, return or continue (rule 1)"},
		{"unknown direction", document(strings.Replace(rule("<tcp/>"), "'in'", "'up'", 1)), virterr.XMLError, "XML error: filter broken: invalid rule/@direction: it is \"up\"; use in, out or inout (rule 1)"},
		{"priority too high", document(strings.Replace(rule("<tcp/>"), "direction", "priority='1001' direction", 1)), virterr.XMLError, "XML error: filter broken: invalid rule/@priority: 1001 is outside of -1000 to 1000 (rule 1)"},
		{"unknown protocol", document(rule("<ipx/>")), virterr.XMLError, "XML error: filter broken, rule 1, <ipx>: protocol \"ipx\" is not known"},
		{"unknown attribute", document(rule("<tcp colour='red'/>")), virterr.XMLError, "XML error: filter broken, rule 1, tcp/@colour: tcp has no such attribute"},
		{"port too high", document(rule("<tcp dstportstart='70000'/>")), virterr.XMLError, "XML error: filter broken, rule 1, tcp/@dstportstart: 70000 is outside of 0 to 65535"},
		{"range of ports the wrong way round", document(rule("<tcp dstportstart='90' dstportend='80'/>")), virterr.XMLError, "XML error: filter broken, rule 1, tcp/@dstportstart: the range is the wrong way round: 90 is above 80, which dstportend says"},
		{"range of addresses the wrong way round", document(rule("<tcp srcipfrom='10.0.0.9' srcipto='10.0.0.1'/>")), virterr.XMLError, "XML error: filter broken, rule 1, tcp/@srcipfrom: the range is the wrong way round: 10.0.0.9 is above 10.0.0.1, which srcipto says"},
		{"range of a BPDU the wrong way round", document(rule("<stp root-cost='9' root-cost-hi='8'/>")), virterr.XMLError, "XML error: filter broken, rule 1, stp/@root-cost: the range is the wrong way round: 9 is above 8, which root-cost-hi says"},
		{"end without a beginning", document(rule("<udp dstportend='80'/>")), virterr.XMLError, "XML error: filter broken, rule 1, udp/@dstportend: it needs the attribute before it: dstportstart"},
		{"mask with holes", document(rule("<ip srcipaddr='10.0.0.1' srcipmask='255.0.255.0'/>")), virterr.XMLError, "XML error: filter broken, rule 1, ip/@srcipmask: mask 255.0.255.0 has ones after zeros"},
		{"mask too long", document(rule("<ip srcipaddr='10.0.0.1' srcipmask='33'/>")), virterr.XMLError, "XML error: filter broken, rule 1, ip/@srcipmask: a prefix has at most 32 bits, not 33"},
		{"mask without an address", document(rule("<ip srcipmask='24'/>")), virterr.XMLError, "XML error: filter broken, rule 1, ip/@srcipmask: it needs the attribute before it: srcipaddr"},
		{"mask of another family", document(rule("<ip srcipaddr='10.0.0.1' srcipmask='ffff::'/>")), virterr.XMLError, "XML error: filter broken, rule 1, ip/@srcipmask: \"ffff::\" is neither the length of a prefix nor a mask"},
		{"MAC mask with holes", document(rule("<mac srcmacaddr='52:54:00:00:00:01' srcmacmask='ff:00:ff:00:00:00'/>")), virterr.XMLError, "XML error: filter broken, rule 1, mac/@srcmacmask: mask ff:00:ff:00:00:00 has ones after zeros"},
		{"flags outside their mask", document(rule("<tcp flags='SYN/ACK'/>")), virterr.XMLError, "XML error: filter broken, rule 1, tcp/@flags: SYN/ACK asks for flags that its mask leaves out, so it can never be met"},
		{"ports of a protocol that has none", document(rule("<ip protocol='icmp' dstportstart='80'/>")), virterr.XMLError, "XML error: filter broken, rule 1, ip/@dstportstart: protocol icmp has none; it needs tcp, udp, udplite, sctp or 33 (DCCP)"},
		{"set of no name", document(rule("<tcp ipset='a b' ipsetflags='src'/>")), virterr.XMLError, "XML error: filter broken, rule 1, tcp/@ipset: \"a b\" cannot be the name of an ipset (1 to 31 letters, digits, '_', '-', '.', ':' and '+')"},
		{"NIC whose filter asks for what nobody gives", nic("asks", ""), virterr.ConfigUnsupported, "unsupported configuration: NIC MAC of domain 'broken': network filter 'asks': variable PORT has no value (filter asks, rule 1, tcp/@dstportstart); add <parameter name='PORT' value='…'/> to the <filterref> of the interface"},
		{"NIC whose filter is given what is none", nic("asks", "<parameter name='PORT' value='web'/>"), virterr.ConfigUnsupported, "unsupported configuration: NIC MAC of domain 'broken': network filter 'asks': filter asks, rule 1, tcp/@dstportstart: $PORT: \"web\" is not a number"},
		{"NIC with a filter that is not there", nic("nowhere", ""), virterr.ConfigUnsupported, "unsupported configuration: NIC MAC of domain 'broken': network filter 'nowhere': there is no filter of that name; define it first (virsh nwfilter-define)"},
	}...)
}

// A filter of 10,000 rules is kept, a NIC gets it, and nothing is left of it.
func TestNetworkFilters_TenThousandRulesWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var rules strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&rules, "<rule action='drop' direction='in' statematch='0'><tcp srcipaddr='10.9.%d.%d' dstportstart='%d'/></rule>", i/256, i%256, 1+i)
	}
	must(t, w.defineFilter(filter("long", rules.String())))
	must(t, w.create(screened("long", "")))
	if rules := w.NS.Run("nft", "list", "ruleset", "bridge"); strings.Count(rules, "counter") < 10_000 {
		t.Errorf("%d rules are in the kernel", strings.Count(rules, "counter"))
	}
	d, err := w.c.Domain(t.Context(), "broken")
	must(t, err)
	must(t, w.c.DestroyDomain(t.Context(), d))
	if rules := w.NS.Run("nft", "list", "ruleset", "bridge"); strings.Contains(rules, "10.9.") {
		t.Error("the rules are left")
	}
}
