"""What a person does with a mouse and a keyboard, by accessibility."""

import os
import subprocess
import time

import gi

gi.require_version("Atspi", "2.0")
from gi.repository import Atspi, GLib  # noqa: E402

PATIENCE = int(os.environ["TAPROOM_PATIENCE"])  # seconds that anything may take
Atspi.set_timeout(10_000, 15_000)  # milliseconds that a program may take to say what it shows


def wait(what, look):
    """Waits until look() is true, and returns it. Programs tell nobody when they have drawn something."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            found = look()
        except GLib.GError:  # the program is busy, or what was looked at has gone
            found = None
        if found:
            return found
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.1)


def showing(node):
    states = node.get_state_set()
    return states.contains(Atspi.StateType.SHOWING) and states.contains(Atspi.StateType.VISIBLE)


def walk(node):
    """All that is below a node. What goes away meanwhile is passed over."""
    try:
        count = node.get_child_count()
    except Exception:
        return
    for i in range(count):
        try:
            child = node.get_child_at_index(i)
            if child is None:
                continue
        except Exception:
            continue
        yield child
        yield from walk(child)


def role_of(node):
    """The name of a node's role. Since AT-SPI 2.56 a push button is a "button"."""
    role = node.get_role_name()
    return "push button" if role == "button" else role


def matches(node, role, name):
    try:
        if role and role_of(node) != role:
            return False
        if name is not None and node.get_name() != name:
            return False
        return showing(node)
    except Exception:
        return False


def find(root, role, name=None, nth=0):
    """The nth node of a role and a name below root that can be seen."""

    def look():
        found = [n for n in walk(root) if matches(n, role, name)]
        return found[nth] if len(found) > nth else None

    return wait(f"{role} {name!r} in {root.get_name()!r}", look)


def there(root, role, name=None):
    return any(matches(n, role, name) for n in walk(root))


def application(name):
    def look():
        desktop = Atspi.get_desktop(0)
        for i in range(desktop.get_child_count()):
            child = desktop.get_child_at_index(i)
            if child is not None and child.get_name() == name:
                return child
        return None

    return wait(f"application {name}", look)


def window(app, name, role=None):
    """A window by the beginning of its title."""

    def look():
        for i in range(app.get_child_count()):
            child = app.get_child_at_index(i)
            if child is None or not child.get_name().startswith(name) or not showing(child):
                continue
            if role in (None, child.get_role_name()):
                return child
        return None

    return wait(f"window {name}", look)


def gone(app, name):
    def look():
        for i in range(app.get_child_count()):
            child = app.get_child_at_index(i)
            if child is not None and child.get_name().startswith(name) and showing(child):
                return False
        return True

    wait(f"window {name} closes", look)


def sensitive(node):
    return node.get_state_set().contains(Atspi.StateType.SENSITIVE)


def click(node, clicks=1):
    """Clicks where a node is. An accessible action would do without the mouse, and hang at what asks a question."""
    wait(f"{node.get_name()!r} can be used", lambda: sensitive(node))
    place = wait(f"{node.get_name()!r} stays where it is", lambda: steady(node))
    for _ in range(clicks):
        Atspi.generate_mouse_event(*place, "b1c")


def steady(node):
    """The middle of a node, once it has not moved for a moment."""
    seen = []
    for _ in range(2):
        box = Atspi.Component.get_extents(node, Atspi.CoordType.SCREEN)
        seen.append((box.x, box.y, box.width, box.height))
        time.sleep(0.2)
    x, y, width, height = seen[0]
    return (x + width // 2, y + height // 2) if seen[0] == seen[1] and x >= 0 and width > 1 else None


def press(root, role, name, nth=0):
    """Finds something and clicks on it."""
    node = find(root, role, name, nth)
    click(node)
    return node


def write(node, text):
    wait(f"{node.get_name()!r} can be used", lambda: sensitive(node))
    Atspi.EditableText.set_text_contents(node, text)


def turn(spin, value):
    """Sets a number with a spin button."""
    wait(f"{spin.get_name()!r} can be used", lambda: sensitive(spin))
    Atspi.Value.set_current_value(spin, value)


def read(node):
    return Atspi.Text.get_text(node, 0, Atspi.Text.get_character_count(node))


def picture(path):
    """A picture of the screen when two in a row are the same, or when it does not come to rest."""
    before = None
    for _ in range(10):
        taken = subprocess.run(["import", "-window", "root", "png:-"], check=True, capture_output=True).stdout
        if taken == before:
            break
        before = taken
        time.sleep(0.3)
    with open(path, "wb") as out:
        out.write(taken)


def colours(place):
    """How many colours a part of the screen has: WIDTHxHEIGHT+X+Y."""
    taken = subprocess.run(["import", "-window", "root", "-crop", place, "png:-"], check=True, capture_output=True).stdout
    count = subprocess.run(["identify", "-format", "%k", "png:-"], check=True, capture_output=True, input=taken).stdout
    return int(count)


def tree(root, depth=0):
    """All that can be seen below a node, as text: for who looks into a failure."""
    lines = []
    for i in range(root.get_child_count()):
        child = root.get_child_at_index(i)
        if child is None or (depth > 0 and not showing(child)):
            continue
        text = ""
        if child.get_text_iface():
            text = repr(Atspi.Text.get_text(child, 0, 80))
        lines.append("  " * depth + f"{child.get_role_name()} {child.get_name()!r} {text}")
        lines.append(tree(child, depth + 1))
    return "\n".join(line for line in lines if line)
