"""Lives with a guest through python3-libvirt and prints what it saw. Usage: guest.py URI"""
import faulthandler
import sys
import threading
import libvirt

uri = sys.argv[1]
patience = 180
faulthandler.dump_traceback_later(3 * patience, exit=True)  # whatever else waits: where
libvirt.registerErrorHandler(lambda *_: None, None)
libvirt.virEventRegisterDefaultImpl()
stop = threading.Event()
libvirt.virEventAddTimeout(50, lambda *_: None, None)


def loop():
    while not stop.is_set():
        libvirt.virEventRunDefaultImpl()


runner = threading.Thread(target=loop, daemon=True)  # one that fails must not wait for it
runner.start()
conn = libvirt.open(uri)
conn.setKeepAlive(5, 30)
seen = []
news = threading.Condition()


def note(*what):
    with news:
        seen.append(what)
        news.notify()


def until(*what):
    with news:
        assert news.wait_for(lambda: what in seen, patience), (what, seen)


def error(what, f):
    try:
        print(what, "gives no error:", f())
    except libvirt.libvirtError as e:
        print(what + ":", e.get_error_code(), e.get_error_domain(), e.get_error_message())


conn.domainEventRegisterAny(None, libvirt.VIR_DOMAIN_EVENT_ID_LIFECYCLE, lambda c, d, event, detail, o: note(d.name(), "lifecycle", event, detail), None)
conn.domainEventRegisterAny(None, libvirt.VIR_DOMAIN_EVENT_ID_REBOOT, lambda c, d, o: note(d.name(), "reboot"), None)
conn.domainEventRegisterAny(None, libvirt.VIR_DOMAIN_EVENT_ID_BALLOON_CHANGE, lambda c, d, kib, o: note(d.name(), "balloon", kib), None)
conn.networkEventRegisterAny(None, libvirt.VIR_NETWORK_EVENT_ID_LIFECYCLE, lambda c, n, event, detail, o: note(n.name(), "network", event), None)

net = conn.networkDefineXML(open("boot-network.xml").read())
error("a guest without its network", lambda: conn.createXML(open("boot-guest.xml").read(), 0))
net.create()
net.update(libvirt.VIR_NETWORK_UPDATE_COMMAND_ADD_LAST, libvirt.VIR_NETWORK_SECTION_IP_DHCP_HOST, -1,
           "<host mac='52:54:00:00:00:01' name='demo' ip='192.168.151.11'/>", libvirt.VIR_NETWORK_UPDATE_AFFECT_LIVE)
dom = conn.defineXML(open("boot-guest.xml").read())
print("defined", dom.name(), dom.ID(), dom.isActive(), dom.isPersistent(), dom.state())
dom.create()
print("started", dom.name(), dom.ID(), dom.isActive(), dom.state(), dom.maxMemory(), dom.maxVcpus(), dom.info()[:4])

# The console as a stream, until the guest says that it is up. The loop reads, as it does for virsh: a recv that waits can
# miss what the loop's thread reads between recv's look into its queue and its wait (libvirt 9 and 11, RecvPacket).
said = b""
over = None


def listen(s, events, opaque):
    global said, over
    with news:
        try:
            while (part := s.recv(1024)) not in (-2, b""):  # nothing yet, the end
                said += part
            over = "the console ended" if part == b"" else None
        except libvirt.libvirtError as e:
            over = e.get_error_message()
        news.notify()
    if over:
        s.eventRemoveCallback()


stream = conn.newStream(libvirt.VIR_STREAM_NONBLOCK)
dom.openConsole(None, stream, 0)
stream.eventAddCallback(libvirt.VIR_STREAM_EVENT_READABLE, listen, None)
error("the console is taken", lambda: dom.openConsole(None, conn.newStream(), 0))


def hear(text):
    with news:
        news.wait_for(lambda: text in said or over, patience)
        assert text in said, ("the console does not say", text, "but", said, over)


hear(b"Type help.")
hear(b"eth0 has 192.168.151.11/24 from 192.168.151.1")
stream.send(b"from python\n")
hear(b"you typed: from python")
stream.eventRemoveCallback()
stream.finish()
print("console works")

# Memory is given back and taken again.
for kib in (150 * 1024, 192 * 1024):
    dom.setMemory(kib)
    until("demo", "balloon", kib)
    print("memory", dom.info()[1:3])

leases = [(l["iface"], l["type"], l["mac"], l["ipaddr"], l["prefix"], l["hostname"], l["clientid"]) for l in net.DHCPLeases()]
print("leases", leases, net.DHCPLeases("52:54:00:00:00:09"))
print("addresses", dom.interfaceAddresses(libvirt.VIR_DOMAIN_INTERFACE_ADDRESSES_SRC_LEASE))
print("memory", sorted(dom.memoryStats()))
print("virtual CPUs", [v[:2] for v in dom.vcpus()[0]], [any(m) for m in dom.vcpus()[1]])
print("figures of a disk", sorted(dom.blockStatsFlags("vda")), dom.blockStatsFlags("vda")["rd_bytes"] > 0)
print("counted", [n > 0 for n in dom.interfaceStats("vnet0")[:2]], dom.blockStats("vda")[0] > 0, dom.blockInfo("vda"))
stats = conn.getAllDomainStats(libvirt.VIR_DOMAIN_STATS_STATE | libvirt.VIR_DOMAIN_STATS_CPU_TOTAL | libvirt.VIR_DOMAIN_STATS_VCPU)
print("stats", [(d.name(), sorted(s)) for d, s in stats])
dom.suspend()
print("suspended", dom.state())
dom.resume()
print("resumed", dom.state())

error("missing", lambda: conn.lookupByName("missing"))
error("missing id", lambda: conn.lookupByID(77))
error("missing network", lambda: conn.networkLookupByName("missing"))
error("started twice", dom.create)
error("resumed twice", dom.resume)
error("no XML", lambda: conn.defineXML("<domain"))
error("not XML that makes sense", lambda: conn.defineXML("<domain type='qemu'><name>x</name></domain>"))
error("not implemented", lambda: conn.defineXML(open("boot-guest.xml").read().replace("</devices>", "<lease/></devices>")))
error("other name", lambda: conn.defineXML(open("boot-guest.xml").read().replace(">demo<", ">other<")))
error("too much memory", lambda: dom.setMemory(1 << 30))
error("no such disk", lambda: dom.blockStats("vdz"))
error("no such NIC", lambda: dom.interfaceStats("eth7"))
error("no snapshots", lambda: dom.snapshotCreateXML("<domainsnapshot/>"))
error("network started twice", net.create)
error("live plug", lambda: dom.attachDeviceFlags("<interface type='user'/>", libvirt.VIR_DOMAIN_AFFECT_LIVE))
ro = libvirt.openReadOnly(uri)
error("read-only", lambda: ro.lookupByName("demo").destroy())
error("read-only", lambda: ro.lookupByName("demo").XMLDesc(libvirt.VIR_DOMAIN_XML_SECURE))
ro.close()

dom.shutdown()
until("demo", "lifecycle", libvirt.VIR_DOMAIN_EVENT_STOPPED, libvirt.VIR_DOMAIN_EVENT_STOPPED_SHUTDOWN)
print("off", dom.state(), dom.isActive(), dom.ID())
error("off", dom.shutdown)
error("off", dom.destroy)
dom.undefine()
error("undefined", dom.info)
net.destroy()
net.undefine()
until("lab", "network", libvirt.VIR_NETWORK_EVENT_UNDEFINED)
for s in seen:
    if s[1] != "balloon":  # the guest takes as many steps as it likes
        print("event", *s)
print("closed", conn.close())
stop.set()
runner.join()
