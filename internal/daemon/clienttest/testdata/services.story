# A network of both families serves names, addresses and boot files; what it serves changes while it runs.
$ net-define network.xml
Network dual defined from network.xml
[exit 0]
$ net-start dual
Network dual started
[exit 0]
$ net-dumpxml dual
<network xmlns:dnsmasq='http://libvirt.org/schemas/network/dnsmasq/1.0'>
  <name>dual</name>
  <uuid>00000000-0000-4000-8000-000000000012</uuid>
  <forward mode='nat'>
    <nat>
      <port start='1024' end='65535'/>
    </nat>
  </forward>
  <bridge name='virbr-dual' stp='on' delay='0'/>
  <mac address='52:54:00:00:00:12'/>
  <domain name='dual.test' localOnly='yes'/>
  <dns forwardPlainNames='no'>
    <forwarder domain='corp.test' addr='127.0.0.9'/>
    <txt name='about' value='a network'/>
    <host ip='192.168.124.9'>
      <hostname>nine</hostname>
    </host>
  </dns>
  <ip address='192.168.124.1' netmask='255.255.255.0' localPtr='yes'>
    <dhcp>
      <range start='192.168.124.2' end='192.168.124.254'/>
      <bootp file='pxelinux.0' server='192.168.124.1'/>
    </dhcp>
  </ip>
  <ip family='ipv6' address='fd00:124::1' prefix='64'>
    <dhcp>
      <range start='fd00:124::100' end='fd00:124::1ff'/>
      <host id='0:1:2:3' name='one' ip='fd00:124::11'/>
    </dhcp>
  </ip>
  <dnsmasq:options>
    <dnsmasq:option value='dhcp-option=option:ntp-server,192.168.124.1'/>
    <dnsmasq:option value='cname=www.dual.test,nine.dual.test'/>
  </dnsmasq:options>
</network>
[exit 0]
$ net-update dual add dns-srv srv.xml --live --config
Updated network dual persistent config and live state
[exit 0]
$ net-update dual add dns-txt txt.xml --live
Updated network dual live state
[exit 0]
$ net-update dual add dns-txt txt.xml --live
error: Failed to update network dual
error: Requested operation is not valid: there is already a DNS TXT record with name 'more' in network dual
[exit 1]
$ net-update dual delete dns-srv srv.xml --live
Updated network dual live state
[exit 0]
$ net-update dual modify dns-txt txt.xml --live
error: Failed to update network dual
error: Requested operation is not valid: DNS TXT records cannot be modified, only added or deleted
[exit 1]
$ net-update dual add ip-dhcp-host host6.xml --live --config
Updated network dual persistent config and live state
[exit 0]
$ net-update dual add ip-dhcp-host host6.xml --live
error: Failed to update network dual
error: Requested operation is not valid: there is an existing dhcp host entry in network 'dual' that matches "<host mac='unknown' name='two' ip='fd00:124::12'/>"
[exit 1]
$ net-update dual delete ip-dhcp-host host6.xml --live
Updated network dual live state
[exit 0]
$ net-update dual add ip-dhcp-range range6.xml --live
error: Failed to update network dual
error: XML error: network 'dual': invalid ip/dhcp/range: fd00:125::1 is outside fd00:124::/64
[exit 1]
$ net-update dual add dns-host host-without-names.xml --live
error: Failed to update network dual
error: XML error: network 'dual': invalid dns/host: 192.168.124.10 has no hostname
[exit 1]
$ net-update dual modify domain domain.xml --live
error: Failed to update network dual
error: this function is not supported by the connection driver: can't update 'domain' section of network 'dual'
[exit 1]
$ net-update dual add forward-interface interface.xml --live
Updated network dual live state
[exit 0]
$ net-dumpxml dual
<network xmlns:dnsmasq='http://libvirt.org/schemas/network/dnsmasq/1.0'>
  <name>dual</name>
  <uuid>00000000-0000-4000-8000-000000000012</uuid>
  <forward mode='nat' dev='eth0'>
    <nat>
      <port start='1024' end='65535'/>
    </nat>
    <interface dev='eth0'/>
  </forward>
  <bridge name='virbr-dual' stp='on' delay='0'/>
  <mac address='52:54:00:00:00:12'/>
  <domain name='dual.test' localOnly='yes'/>
  <dns forwardPlainNames='no'>
    <forwarder domain='corp.test' addr='127.0.0.9'/>
    <txt name='about' value='a network'/>
    <txt name='more' value='of it'/>
    <host ip='192.168.124.9'>
      <hostname>nine</hostname>
    </host>
  </dns>
  <ip address='192.168.124.1' netmask='255.255.255.0' localPtr='yes'>
    <dhcp>
      <range start='192.168.124.2' end='192.168.124.254'/>
      <bootp file='pxelinux.0' server='192.168.124.1'/>
    </dhcp>
  </ip>
  <ip family='ipv6' address='fd00:124::1' prefix='64'>
    <dhcp>
      <range start='fd00:124::100' end='fd00:124::1ff'/>
      <host id='0:1:2:3' name='one' ip='fd00:124::11'/>
    </dhcp>
  </ip>
  <dnsmasq:options>
    <dnsmasq:option value='dhcp-option=option:ntp-server,192.168.124.1'/>
    <dnsmasq:option value='cname=www.dual.test,nine.dual.test'/>
  </dnsmasq:options>
</network>
[exit 0]
$ net-dumpxml dual --inactive --xpath //dns
<dns forwardPlainNames="no">
  <forwarder domain="corp.test" addr="127.0.0.9"/>
  <txt name="about" value="a network"/>
  <srv service="ldap" protocol="tcp" domain="dual.test" target="nine.dual.test" port="389"/>
  <host ip="192.168.124.9">
    <hostname>nine</hostname>
  </host>
</dns>
[exit 0]
$ net-dhcp-leases dual
 Expiry Time   MAC address   Protocol   IP address   Hostname   Client ID or DUID
-----------------------------------------------------------------------------------
[exit 0]
% kill
$ net-dumpxml dual --xpath //ip
<ip address="192.168.124.1" netmask="255.255.255.0" localPtr="yes">
  <dhcp>
    <range start="192.168.124.2" end="192.168.124.254"/>
    <bootp file="pxelinux.0" server="192.168.124.1"/>
  </dhcp>
</ip>
<ip family="ipv6" address="fd00:124::1" prefix="64">
  <dhcp>
    <range start="fd00:124::100" end="fd00:124::1ff"/>
    <host id="0:1:2:3" name="one" ip="fd00:124::11"/>
  </dhcp>
</ip>
[exit 0]
$ net-destroy dual
Network dual destroyed
[exit 0]
$ net-undefine dual
Network dual has been undefined
[exit 0]
$ net-define register.xml
error: Failed to define network from register.xml
error: unsupported configuration: network 'refused': domain/@register is not supported: "yes": the host's resolver is not told of the domain yet; leave it out
[exit 1]
$ net-define off.xml
error: Failed to define network from off.xml
error: unsupported configuration: network 'refused': dns/@enable is not supported: it is off, and there is something in it; remove one of the two
[exit 1]
$ net-define family.xml
error: Failed to define network from family.xml
error: unsupported configuration: network 'refused': ip/@family is not supported: address fd00::1 is of IPv6; write family='ipv6'
[exit 1]
$ net-define boot6.xml
error: Failed to define network from boot6.xml
error: unsupported configuration: network 'refused': ip/dhcp/bootp is not supported: it is of IPv4; for IPv6 use dnsmasq:options with dhcp-option=option6:bootfile-url,URL
[exit 1]
-- network.xml --
<network xmlns:dnsmasq='http://libvirt.org/schemas/network/dnsmasq/1.0'>
  <name>dual</name>
  <uuid>00000000-0000-4000-8000-000000000012</uuid>
  <forward mode='nat'>
    <nat>
      <port start='1024' end='65535'/>
    </nat>
  </forward>
  <bridge name='virbr-dual'/>
  <mac address='52:54:00:00:00:12'/>
  <domain name='dual.test' localOnly='yes'/>
  <dns forwardPlainNames='no'>
    <forwarder domain='corp.test' addr='127.0.0.9'/>
    <txt name='about' value='a network'/>
    <host ip='192.168.124.9'>
      <hostname>nine</hostname>
    </host>
  </dns>
  <ip address='192.168.124.1' netmask='255.255.255.0' localPtr='yes'>
    <dhcp>
      <range start='192.168.124.2' end='192.168.124.254'/>
      <bootp file='pxelinux.0' server='192.168.124.1'/>
    </dhcp>
  </ip>
  <ip family='ipv6' address='fd00:124::1' prefix='64'>
    <dhcp>
      <range start='fd00:124::100' end='fd00:124::1ff'/>
      <host id='0:1:2:3' name='one' ip='fd00:124::11'/>
    </dhcp>
  </ip>
  <dnsmasq:options>
    <dnsmasq:option value='dhcp-option=option:ntp-server,192.168.124.1'/>
    <dnsmasq:option value='cname=www.dual.test,nine.dual.test'/>
  </dnsmasq:options>
</network>
-- srv.xml --
<srv service='ldap' protocol='tcp' domain='dual.test' target='nine.dual.test' port='389'/>
-- txt.xml --
<txt name='more' value='of it'/>
-- host6.xml --
<host id='0:1:2:4' name='two' ip='fd00:124::12'/>
-- range6.xml --
<range start='fd00:125::1' end='fd00:125::9'/>
-- host-without-names.xml --
<host ip='192.168.124.10'/>
-- domain.xml --
<domain name='other.test'/>
-- interface.xml --
<interface dev='eth0'/>
-- register.xml --
<network><name>refused</name><domain name='a.test' register='yes'/></network>
-- off.xml --
<network><name>refused</name><dns enable='no'><txt name='a' value='b'/></dns></network>
-- family.xml --
<network><name>refused</name><ip address='fd00::1' prefix='64'/></network>
-- boot6.xml --
<network><name>refused</name><ip family='ipv6' address='fd00::1' prefix='64'><dhcp><bootp file='a'/></dhcp></ip></network>
