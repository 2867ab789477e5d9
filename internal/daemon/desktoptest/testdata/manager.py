"""virt-manager as a person uses it. Arguments: the URI, the folder of the images, the folder for the pictures.

What it does is looked at in the daemon, over a connection of its own; what it shows is read by accessibility. Each line of
the output is a step that was seen to be right.
"""

import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ET

import libvirt

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import desk  # noqa: E402
from desk import click, find, gone, press, read, there, wait, window, write  # noqa: E402

uri, images, pictures = sys.argv[1:4]
libvirt.registerErrorHandler(lambda *_: None, None)
conn = libvirt.open(uri)
log = open(os.path.join(pictures, "virt-manager.log"), "w", encoding="utf-8")


def step(text):
    print("* " + text, flush=True)


def shot(name):
    desk.picture(os.path.join(pictures, name + ".png"))


def state(name, wanted):
    """Waits until a domain is in a state."""

    def look():
        try:
            return conn.lookupByName(name).state()[0] == wanted
        except libvirt.libvirtError:
            return False

    wait(f"{name} is in state {wanted}", look)


def kept(name):
    return ET.fromstring(conn.lookupByName(name).XMLDesc(libvirt.VIR_DOMAIN_XML_INACTIVE))


def answer(app, text, button):
    """Answers a question."""
    dialog = window(app, "", "alert") if not text else wait(text, lambda: asks(app, text))
    press(dialog, "push button", button)


def asks(app, text):
    for i in range(app.get_child_count()):
        child = app.get_child_at_index(i)
        if child is not None and child.get_role_name() in ("alert", "dialog", "frame") and desk.showing(child):
            for node in desk.walk(child):
                try:
                    if node.get_role_name() == "label" and text in node.get_name():
                        return child
                except Exception:
                    continue
    return None


def manager():
    """Starts virt-manager; it connects and lists what there is."""
    vm = subprocess.Popen(["virt-manager", "--no-fork", "--debug", "-c", uri], stdout=log, stderr=log)
    app = desk.application("virt-manager")
    main = window(app, "Virtual Machine Manager")
    find(main, "table cell", "QEMU/KVM")
    step("connects")
    return vm, app, main


def create(app, main):
    """The wizard: a guest from an image."""
    press(main, "push button", "New")
    new = window(app, "New VM")
    press(new, "radio button", "Import existing disk image")
    shot("2-new-guest")
    press(new, "push button", "Forward")
    write(find(new, "text", "import-entry"), os.path.join(images, "web.qcow2"))
    write(find(new, "text", "oslist-entry"), "generic linux 2022")
    press(new, "table cell", "Generic Linux 2022 (linux2022)")
    shot("3-image")
    press(new, "push button", "Forward")
    wait("the third step", lambda: read(find(new, "label", "pagenum-label")) == "Step 3 of 4")
    desk.turn(find(new, "spin button", None, 1), 128)
    press(new, "push button", "Forward")
    wait("the last step", lambda: read(find(new, "label", "pagenum-label")) == "Step 4 of 4")
    write(find(new, "text", None), "web")
    shot("4-ready")
    press(new, "push button", "Finish")
    gone(app, "New VM")
    state("web", libvirt.VIR_DOMAIN_RUNNING)
    doc = kept("web")
    assert doc.findtext("memory") == str(128 << 10), doc.findtext("memory")
    assert doc.find("devices/disk/source").get("file") == os.path.join(images, "web.qcow2")
    assert doc.find("devices/interface/source").get("network") == "default"
    step("creates a guest from an image")
    return window(app, "web on QEMU/KVM")


def console(guest):
    """The screen of the guest, in virt-manager's own viewer: something is written on it."""

    def lit():
        labels = [n.get_name() for n in desk.walk(guest) if n.get_role_name() == "label" and desk.showing(n)]
        assert not any("rror" in text for text in labels), labels
        return desk.colours("300x300+150+250") > 1

    wait("a picture of the guest's screen", lit)
    shot("5-console")
    step("opens the console")


def graphs(guest):
    """The guest's processor runs in a circle: its graph shows it."""
    press(guest, "radio button", "Details")
    press(find(guest, "table", "hw-list"), "table cell", "Performance")

    def busy():
        return [n for n in desk.walk(guest) if n.get_role_name() == "label" and re.fullmatch(r"[1-9]\d* %", n.get_name()) and desk.showing(n)]

    wait("a graph of a processor that is used", busy)
    time.sleep(8)  # so that the graph has some length in the picture
    shot("6-performance")
    step("shows its use of the processor")


def off(app, guest):
    press(guest, "toggle button", "Menu")
    press(app, "menu item", "Force Off")
    answer(app, "force poweroff", "Yes")
    state("web", libvirt.VIR_DOMAIN_SHUTOFF)
    step("forces it off")


def disks():
    return [d.find("source").get("file") for d in kept("web").findall("devices/disk")]


def add_and_remove_a_disk(app, guest):
    press(guest, "push button", "add-hardware")
    add = window(app, "Add New Virtual Hardware")
    desk.turn(find(add, "spin button"), 1)
    shot("7-add-disk")
    press(add, "push button", "Finish")
    gone(app, "Add New Virtual Hardware")
    wait("two disks", lambda: len(disks()) == 2)
    path = disks()[1]
    assert conn.storageVolLookupByPath(path).info()[1] == 1 << 30, path
    step("makes a disk and adds it")
    press(find(guest, "table", "hw-list"), "table cell", "VirtIO Disk 2")
    shot("8-disk")
    press(guest, "push button", "config-remove")
    remove = window(app, "Remove Disk Device")
    shot("9-remove-disk")
    press(remove, "push button", "Delete")
    if asks_soon(app, "Are you sure you want to delete the storage?"):
        answer(app, "Are you sure you want to delete the storage?", "Yes")
    gone(app, "Remove Disk Device")
    wait("one disk", lambda: len(disks()) == 1)
    step("removes it again")


def asks_soon(app, text):
    end = time.monotonic() + 3
    while time.monotonic() < end:
        if asks(app, text):
            return True
        time.sleep(0.1)
    return False


def nics():
    return [n.find("mac").get("address") for n in kept("web").findall("devices/interface")]


def add_and_remove_a_nic(app, guest):
    first = nics()
    press(guest, "push button", "add-hardware")
    add = window(app, "Add New Virtual Hardware")
    press(find(add, "table", None), "table cell", "Network")
    find(add, "filler", "network-tab")
    shot("10-add-nic")
    press(add, "push button", "Finish")
    gone(app, "Add New Virtual Hardware")
    wait("two NICs", lambda: len(nics()) == 2)
    step("adds a NIC")
    second = next(m for m in nics() if m not in first)
    press(find(guest, "table", "hw-list"), "table cell", "NIC " + second[8:])
    shot("11-nic")
    press(guest, "push button", "config-remove")
    answer(app, "Are you sure you want to remove this device?", "Yes")
    wait("one NIC", lambda: nics() == first)
    step("removes it again")


def edit(guest):
    """The document itself, in the editor."""
    press(find(guest, "table", "hw-list"), "table cell", "Overview")
    press(guest, "page tab", "XML")
    editor = find(guest, "text", "XML editor")
    write(editor, read(editor).replace("</name>", "</name>\n  <title>A web server</title>", 1))
    shot("12-xml")
    press(guest, "push button", "config-apply")
    wait("the title", lambda: kept("web").findtext("title") == "A web server")
    press(guest, "page tab", "Details")
    step("edits XML")


def run(guest):
    press(guest, "push button", "Run")
    state("web", libvirt.VIR_DOMAIN_RUNNING)
    press(guest, "toggle button", "Pause")
    state("web", libvirt.VIR_DOMAIN_PAUSED)
    press(guest, "toggle button", "Pause")
    state("web", libvirt.VIR_DOMAIN_RUNNING)
    step("runs it, pauses it and lets it go on")


def add_a_disk_to_what_runs(app, guest):
    """It is plugged at once, and there at the next start."""
    press(guest, "radio button", "Details")
    press(guest, "push button", "add-hardware")
    add = window(app, "Add New Virtual Hardware")
    desk.turn(find(add, "spin button"), 1)
    press(add, "push button", "Finish")
    gone(app, "Add New Virtual Hardware")
    wait("two disks", lambda: len(disks()) == 2)
    live = ET.fromstring(conn.lookupByName("web").XMLDesc(0))
    assert len(live.findall("devices/disk")) == 2, ET.tostring(live)
    find(find(guest, "table", "hw-list"), "table cell", "VirtIO Disk 2")
    step("adds a disk while it runs")


vm, app, main = manager()
shot("1-manager")
try:
    guest = create(app, main)
    console(guest)
    graphs(guest)
    off(app, guest)
    add_and_remove_a_disk(app, guest)
    add_and_remove_a_nic(app, guest)
    edit(guest)
    run(guest)
    add_a_disk_to_what_runs(app, guest)
    press(guest, "menu", "File")
    press(app, "menu item", "Close")
    gone(app, "web on")
    time.sleep(5)
    shot("13-list")
    find(main, "table cell", "web\nRunning") if there(main, "table cell", "web\nRunning") else find(main, "table cell", "A web server\nRunning")
    press(main, "menu", "File")
    press(app, "menu item", "Quit")
    vm.wait(30)
    step("quits")
except BaseException:
    shot("failed")
    print(desk.tree(app), file=sys.stderr)
    raise
finally:
    vm.kill()
    vm.wait()
conn.close()
