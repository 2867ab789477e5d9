"""Opens the displays and channels of a running guest through python3-libvirt and prints what they say. Usage: displays.py URI SECONDS"""
import socket
import sys
import libvirt

libvirt.registerErrorHandler(lambda *_: None, None)
conn = libvirt.open(sys.argv[1])
guest = conn.lookupByName("guest")


def says(what, sock, n):
    sock.settimeout(int(sys.argv[2]))
    data = b""
    while len(data) < n:
        more = sock.recv(n - len(data))
        if not more:
            break
        data += more
    print(what, data)
    sock.close()


def error(what, f, of=None):
    """Prints an error. The number of the descriptor that it is of depends on what this process inherited."""
    try:
        print(what, f())
    except libvirt.libvirtError as e:
        print(what, str(e) if of is None else str(e).replace("fd %d " % of.fileno(), "fd N "))


# The daemon makes the sockets. Without SKIPAUTH VNC asks for its password (security type 2), with it for none (1).
for flags in (0, libvirt.VIR_DOMAIN_OPEN_GRAPHICS_SKIPAUTH):
    vnc = socket.socket(fileno=guest.openGraphicsFD(0, flags))
    greeting = vnc.recv(12)
    vnc.send(greeting)
    says("vnc %r, %d:" % (greeting, flags), vnc, 2)

# The client makes it.
ours, theirs = socket.socketpair()
guest.openGraphics(0, theirs.fileno(), 0)
theirs.close()
says("vnc on a socket of ours:", ours, 12)

spice = socket.socket(fileno=guest.openGraphicsFD(1, 0))
spice.send(b"REDQ" + (2).to_bytes(4, "little") * 2 + (18).to_bytes(4, "little")
           + bytes(4) + b"\x01\x00" + bytes(8) + (18).to_bytes(4, "little"))
says("spice:", spice, 4)

error("display 2:", lambda: guest.openGraphicsFD(2, 0))
null = open("/dev/null")
error("a file:", lambda: guest.openGraphics(0, null.fileno(), 0), of=null)
error("unknown flags:", lambda: guest.openGraphicsFD(0, 4))

stream = conn.newStream()
guest.openChannel("org.example.0", stream)
error("a channel that is taken:", lambda: guest.openChannel("channel0", conn.newStream()))
other = conn.newStream()
guest.openChannel("channel0", other, libvirt.VIR_DOMAIN_CHANNEL_FORCE)
print("a channel that was taken: ends with", stream.recv(1))
other.finish()
error("a channel on no socket:", lambda: guest.openChannel("com.redhat.spice.0", conn.newStream()))
error("no such channel:", lambda: guest.openChannel("nowhere", conn.newStream()))
readonly = libvirt.openReadOnly(sys.argv[1].replace("libvirt-sock", "libvirt-sock-ro"))
error("read-only:", lambda: readonly.lookupByName("guest").openGraphicsFD(0, 0))
