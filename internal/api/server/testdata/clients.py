"""Talks to a daemon with python3-libvirt and prints what it saw. Usage: clients.py SOCKET"""
import faulthandler
import sys
import threading
import libvirt

socket = sys.argv[1]
uri = "qemu+unix:///system?socket=" + socket
libvirt.registerErrorHandler(lambda *_: None, None)
libvirt.virEventRegisterDefaultImpl()
faulthandler.dump_traceback_later(120, exit=True)  # whatever waits: where
stop = threading.Event()


def loop():
    while not stop.is_set():
        libvirt.virEventRunDefaultImpl()


libvirt.virEventAddTimeout(50, lambda *_: None, None)
runner = threading.Thread(target=loop, daemon=True)  # an error ends the program
runner.start()

conn = libvirt.open(uri)
conn.setKeepAlive(5, 3)
events = []
seen = threading.Condition()


def note(*what):
    with seen:
        events.append(what)
        seen.notify()


def wait(n):
    with seen:
        assert seen.wait_for(lambda: len(events) >= n, 20), events


def lifecycle(conn, dom, event, detail, opaque):
    note(opaque, dom.name(), event, detail)


print("type", conn.getType(), "version", conn.getVersion(), "lib", conn.getLibVersion(), "secure", conn.isSecure(), "alive", conn.isAlive(), "encrypted", conn.isEncrypted())
print("host", conn.getHostname(), conn.getInfo(), "free", conn.getFreeMemory(), conn.getCPUStats(-1), conn.getMemoryStats(-1))
xml = open("guest.xml").read()
first = conn.defineXML(xml)
second = conn.defineXMLFlags(xml.replace("guest<", "other<").replace("11111111-", "22222222-"), 0)
conn.domainEventRegister(lambda c, d, e, x, o: note("legacy", d.name(), e, x), None)
one = conn.domainEventRegisterAny(first, libvirt.VIR_DOMAIN_EVENT_ID_LIFECYCLE, lifecycle, "first only")
every = conn.domainEventRegisterAny(None, libvirt.VIR_DOMAIN_EVENT_ID_LIFECYCLE, lifecycle, "all")
first.createWithFlags(libvirt.VIR_DOMAIN_START_PAUSED)
second.create()
wait(8)
for e in sorted(events):
    print("event", *e)
conn.domainEventDeregisterAny(one)
conn.domainEventDeregisterAny(every)
print("ids", conn.listDomainsID(), "defined", conn.listDefinedDomains(), conn.numOfDomains(), conn.numOfDefinedDomains())
print("all", [(d.name(), d.ID(), d.UUIDString()) for d in conn.listAllDomains()])
print("found", conn.lookupByID(first.ID()).name(), conn.lookupByUUIDString(second.UUIDString()).name(), conn.lookupByName("other").ID())
print("first", first.info(), first.state(), first.isActive(), first.isPersistent(), first.isUpdated(), first.OSType(), first.maxMemory(), first.maxVcpus(), first.autostart(), first.hasManagedSaveImage(), first.snapshotNum(), first.jobInfo())
print("stats", first.blockStats("vda"), first.interfaceStats("vnet0"), first.memoryStats(), first.blockInfo("vda"))
for record in conn.getAllDomainStats(libvirt.VIR_DOMAIN_STATS_STATE):
    print("domstats", record[0].name(), record[1])
print("one domstats", [(r[0].name(), r[1]) for r in conn.domainListGetStats([second], libvirt.VIR_DOMAIN_STATS_BALLOON)])
print("addresses", first.interfaceAddresses(libvirt.VIR_DOMAIN_INTERFACE_ADDRESSES_SRC_LEASE))
# The loop reads the console, as it does for virsh: a recv that waits can miss what the loop's thread reads between recv's
# look into its queue and its wait (libvirt 9 and 11, virNetClientStreamRecvPacket).
heard = b""


def listen(s, what, opaque):
    global heard
    with seen:
        while (part := s.recv(1024)) not in (-2, b""):  # nothing yet, the end
            heard += part
        seen.notify()


stream = conn.newStream(libvirt.VIR_STREAM_NONBLOCK)
first.openConsole(None, stream)
stream.eventAddCallback(libvirt.VIR_STREAM_EVENT_READABLE, listen, None)
stream.send(b"hello")
with seen:
    assert seen.wait_for(lambda: len(heard) >= 5, 20), heard
print("console", heard)
stream.eventRemoveCallback()
stream.finish()
stream = conn.newStream()
first.openConsole("serial0", stream, libvirt.VIR_DOMAIN_CONSOLE_FORCE)
stream.abort()
net = conn.networkDefineXML(open("network.xml").read())
net.create()
print("networks", [(n.name(), n.bridgeName(), n.isActive(), n.isPersistent(), n.autostart()) for n in conn.listAllNetworks()], conn.listNetworks(), conn.listDefinedNetworks(), conn.numOfNetworks())
print("leases", net.DHCPLeases())
print("absent", conn.listAllStoragePools(), conn.listAllInterfaces(), [d.name() for d in conn.listAllDevices()], conn.listAllNWFilters(), conn.listAllSecrets(), conn.numOfStoragePools(), conn.listStoragePools(), conn.listDevices(None), conn.listSecrets())
for what in (lambda: conn.lookupByName("missing"), lambda: conn.networkLookupByName("missing"), lambda: conn.storagePoolLookupByName("missing"),
             lambda: conn.nwfilterLookupByName("missing"), lambda: conn.secretLookupByUUIDString(first.UUIDString()), lambda: first.create(),
             lambda: first.migrateSetMaxSpeed(5), lambda: conn.defineXML("<domain")):
    try:
        what()
        print("no error")
    except libvirt.libvirtError as e:
        print("error", e.get_error_code(), e.get_error_domain(), e.get_error_level(), e.get_error_message())
first.destroy()
first.undefine()
ro = libvirt.openReadOnly(uri)
try:
    ro.lookupByName("other").destroy()
except libvirt.libvirtError as e:
    print("read-only", e.get_error_code(), e.get_error_message())
ro.close()
print("closed", conn.close())
stop.set()
runner.join()
