#!/bin/sh
# display.sh COMMAND…: runs a command with an X display, a window manager, a session bus and an accessibility bus of its own,
# all of which end with it. $HOME is where they keep things.
set -eu
export XDG_RUNTIME_DIR="$HOME/run" XDG_CONFIG_HOME="$HOME/config" XDG_CACHE_HOME="$HOME/cache" XDG_DATA_HOME="$HOME/data"
mkdir -p "$XDG_CONFIG_HOME/glib-2.0/settings" "$XDG_CACHE_HOME" "$XDG_DATA_HOME"
mkdir -p -m 0700 "$XDG_RUNTIME_DIR"
# The settings of virt-manager: XML may be edited, and all graphs are drawn, once a second.
cat >"$XDG_CONFIG_HOME/glib-2.0/settings/keyfile" <<'END'
[org/virt-manager/virt-manager]
xmleditor-enabled=true
[org/virt-manager/virt-manager/stats]
update-interval=1
enable-disk-poll=true
enable-net-poll=true
enable-memory-poll=true
[org/virt-manager/virt-manager/vmlist-fields]
cpu-usage=true
host-cpu-usage=true
memory-usage=true
disk-usage=true
network-traffic=true
END
export GSETTINGS_BACKEND=keyfile GTK_THEME=Adwaita LIBGL_ALWAYS_SOFTWARE=1 GTK_MODULES=gail:atk-bridge NO_AT_BRIDGE=0
mkfifo "$HOME/display"
Xvfb -displayfd 3 -screen 0 1280x960x24 -nolisten tcp 3>"$HOME/display" >"$HOME/xvfb.log" 2>&1 &
xvfb=$!
trap 'kill $xvfb 2>/dev/null || true; wait $xvfb || true' EXIT
read -r number <"$HOME/display"
export DISPLAY=":$number"
# The window manager belongs to the session, and ends with the display.
dbus-run-session -- sh -eu -c 'openbox >"$HOME/openbox.log" 2>&1 & /usr/libexec/at-spi-bus-launcher --launch-immediately >"$HOME/atspi.log" 2>&1 & "$@"' session "$@"
