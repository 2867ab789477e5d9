"""Hears every kind of event that python3-libvirt knows, over one connection that is kept alive, until it is cut.

Commands come on stdin: "cut" says that the daemon is about to be killed. What is heard is printed as it comes.
"""

import sys
import threading

import libvirt

libvirt.virEventRegisterDefaultImpl()
ended = threading.Event()


def loop():
    while not ended.is_set():
        libvirt.virEventRunDefaultImpl()


thread = threading.Thread(target=loop, daemon=True)
thread.start()

conn = libvirt.open(sys.argv[1])
assert conn.setKeepAlive(1, 3) == 0
assert conn.isAlive()

REASONS = {
    libvirt.VIR_CONNECT_CLOSE_REASON_ERROR: "error",
    libvirt.VIR_CONNECT_CLOSE_REASON_EOF: "end of file",
    libvirt.VIR_CONNECT_CLOSE_REASON_KEEPALIVE: "keepalive",
    libvirt.VIR_CONNECT_CLOSE_REASON_CLIENT: "client",
}


def closed(_conn, reason, _opaque):
    print("closed:", REASONS[reason], flush=True)
    ended.set()


conn.registerCloseCallback(closed, None)

# What names the kinds: VIR_DOMAIN_EVENT_ID_LIFECYCLE and so on.
kinds = {
    value: name[len("VIR_DOMAIN_EVENT_ID_"):].lower()
    for name, value in vars(libvirt).items()
    if name.startswith("VIR_DOMAIN_EVENT_ID_") and not name.endswith("_LAST")
}


def hear(*args):
    conn_, dom, *rest, kind = args
    print("domain", dom.name(), kind, *[r for r in rest if not isinstance(r, dict)], flush=True)


ids = [conn.domainEventRegisterAny(None, kind, hear, name) for kind, name in sorted(kinds.items())]


def network(_conn, net, event, detail, _opaque):
    print("network", net.name(), event, detail, flush=True)


def pool(_conn, p, event, detail, _opaque):
    print("pool", p.name(), event, detail, flush=True)


def refreshed(_conn, p, _opaque):
    print("pool", p.name(), "refreshed", flush=True)


conn.networkEventRegisterAny(None, libvirt.VIR_NETWORK_EVENT_ID_LIFECYCLE, network, None)
conn.storagePoolEventRegisterAny(None, libvirt.VIR_STORAGE_POOL_EVENT_ID_LIFECYCLE, pool, None)
conn.storagePoolEventRegisterAny(None, libvirt.VIR_STORAGE_POOL_EVENT_ID_REFRESH, refreshed, None)
conn.nodeDeviceEventRegisterAny(None, libvirt.VIR_NODE_DEVICE_EVENT_ID_LIFECYCLE, pool, None)
conn.secretEventRegisterAny(None, libvirt.VIR_SECRET_EVENT_ID_LIFECYCLE, pool, None)
print("listens to", len(ids), "kinds of events of domains", flush=True)

for line in sys.stdin:
    if line.strip() == "fewer":  # those that are not wanted any more are not told
        for i in ids:
            conn.domainEventDeregisterAny(i)
        print("listens to fewer", flush=True)
    if line.strip() == "cut":
        ended.wait(60)
        assert not conn.isAlive()
        print("is not alive", flush=True)
        break
