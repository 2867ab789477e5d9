package firewall_test

const oneNetwork = `table ip taproom {
	comment "guest networks of taproom"
	set bridges {
		type ifname
		elements = { "virbr0" }
	}

	set same {
		type ifname . ifname
		elements = { "virbr0" . "virbr0" }
	}

	set sent {
		type ifname
		size 12288
		flags dynamic
	}

	set received {
		type ifname
		size 12288
		flags dynamic
	}

	set net24 {
		type ifname . ipv4_addr
		elements = { "virbr0" . 192.168.122.0 }
	}

	set nat24 {
		type ipv4_addr
		elements = { 192.168.122.0 }
	}

	set in24 {
		type ifname . ipv4_addr
	}

	chain guests_in {
		ct state established,related oifname . ip daddr & 255.255.255.0 @net24 update @received { oifname counter } accept
		oifname . ip daddr & 255.255.255.0 @in24 update @received { oifname counter } jump guests_reach
	}

	chain guests_out {
		iifname . ip saddr & 255.255.255.0 @net24 update @sent { iifname counter } accept
	}

	chain guests_ports {
	}

	chain guests_snat {
	}

	chain guests_nat {
		ip daddr 224.0.0.0/24 return
		ip daddr 255.255.255.255 return
		jump guests_ports
		jump guests_snat
		meta l4proto tcp masquerade to :1024-65535
		meta l4proto udp masquerade to :1024-65535
		masquerade
	}

	chain guests_reach {
		iifname != @bridges accept comment "from outside"
		jump guests_out comment "from guests that may go out"
	}

	chain guests_dnat {
		ip daddr 127.0.0.0/8 return
	}

	chain forward {
		type filter hook forward priority filter; policy accept;
		iifname . oifname @same accept comment "stays on its bridge"
		jump guests_in
		oifname @bridges reject comment "nothing else to guests"
		jump guests_out
		iifname @bridges reject comment "nothing else from guests"
	}

	chain input {
		type filter hook input priority filter; policy accept;
		iifname @bridges udp dport 67 accept comment "DHCP"
		iifname @bridges udp dport 53 accept comment "DNS"
		iifname @bridges tcp dport 53 accept comment "DNS"
		iifname @bridges udp dport 69 accept comment "TFTP"
	}

	chain output {
		type filter hook output priority filter; policy accept;
		oifname @bridges udp dport 68 accept comment "DHCP"
		oifname @bridges udp sport 53 accept comment "DNS"
		oifname @bridges tcp sport 53 accept comment "DNS"
		oifname @bridges udp sport 69 accept comment "TFTP"
	}

	chain postrouting {
		type nat hook postrouting priority srcnat; policy accept;
		ip saddr & 255.255.255.0 == @nat24 ip daddr & 255.255.255.0 != @nat24 jump guests_nat
	}

	chain prerouting {
		type nat hook prerouting priority dstnat; policy accept;
		jump guests_dnat
	}

	chain output_dnat {
		type nat hook output priority -100; policy accept;
		jump guests_dnat
	}
}
`

const oneNetwork6 = `table ip6 taproom {
	comment "guest networks of taproom"
	set bridges {
		type ifname
		elements = { "virbr0" }
	}

	set same {
		type ifname . ifname
		elements = { "virbr0" . "virbr0" }
	}

	set sent {
		type ifname
		size 12288
		flags dynamic
	}

	set received {
		type ifname
		size 12288
		flags dynamic
	}

	set net64 {
		type ifname . ipv6_addr
		elements = { "virbr0" . fd00:1:: }
	}

	set nat64 {
		type ipv6_addr
	}

	set in64 {
		type ifname . ipv6_addr
		elements = { "virbr0" . fd00:1:: }
	}

	chain guests_in {
		ct state established,related oifname . ip6 daddr & ffff:ffff:ffff:ffff:: @net64 update @received { oifname counter } accept
		oifname . ip6 daddr & ffff:ffff:ffff:ffff:: @in64 update @received { oifname counter } jump guests_reach
	}

	chain guests_out {
		iifname . ip6 saddr & ffff:ffff:ffff:ffff:: @net64 update @sent { iifname counter } accept
	}

	chain guests_ports {
	}

	chain guests_snat {
	}

	chain guests_nat {
		ip6 daddr ff02::/16 return
		jump guests_ports
		jump guests_snat
		meta l4proto tcp masquerade to :1024-65535
		meta l4proto udp masquerade to :1024-65535
		masquerade
	}

	chain guests_reach {
		iifname != @bridges accept comment "from outside"
		jump guests_out comment "from guests that may go out"
	}

	chain guests_dnat {
		ip6 daddr ::1 return
		ip6 daddr fe80::/10 return
	}

	chain forward {
		type filter hook forward priority filter; policy accept;
		iifname . oifname @same accept comment "stays on its bridge"
		jump guests_in
		oifname @bridges reject comment "nothing else to guests"
		jump guests_out
		iifname @bridges reject comment "nothing else from guests"
	}

	chain input {
		type filter hook input priority filter; policy accept;
		iifname @bridges udp dport 547 accept comment "DHCP"
		iifname @bridges udp dport 53 accept comment "DNS"
		iifname @bridges tcp dport 53 accept comment "DNS"
		iifname @bridges udp dport 69 accept comment "TFTP"
		iifname @bridges meta l4proto ipv6-icmp accept comment "neighbours, routers, groups, errors, echo"
	}

	chain output {
		type filter hook output priority filter; policy accept;
		oifname @bridges udp dport 546 accept comment "DHCP"
		oifname @bridges udp sport 53 accept comment "DNS"
		oifname @bridges tcp sport 53 accept comment "DNS"
		oifname @bridges udp sport 69 accept comment "TFTP"
		oifname @bridges meta l4proto ipv6-icmp accept comment "neighbours, routers, groups, errors, echo"
	}

	chain postrouting {
		type nat hook postrouting priority srcnat; policy accept;
		ip6 saddr & ffff:ffff:ffff:ffff:: == @nat64 ip6 daddr & ffff:ffff:ffff:ffff:: != @nat64 jump guests_nat
	}

	chain prerouting {
		type nat hook prerouting priority dstnat; policy accept;
		jump guests_dnat
	}

	chain output_dnat {
		type nat hook output priority -100; policy accept;
		jump guests_dnat
	}
}
`
