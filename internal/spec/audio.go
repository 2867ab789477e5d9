package spec

// Audio is a backend that guests' sound goes to, and comes from.
type Audio struct {
	ID   string `xml:"id,attr"`
	Type string `xml:"type,attr"` // none, spice
	Extra
}

// audioRules refuses what would make sound another one, or take it to the host's own devices.
func audioRules() map[string]rule {
	m := map[string]rule{
		"devices/audio/@type":        values("none spice", "alsa coreaudio dbus file jack oss pipewire pulseaudio sdl"),
		"devices/audio/@id":          number(1, 1<<31-1),
		"devices/audio/@timerPeriod": refuse("the pace of sound cannot be chosen"),
		"devices/audio/input":        refuse("the format of sound cannot be chosen"),
		"devices/audio/output":       refuse("the format of sound cannot be chosen"),
	}
	for _, name := range []string{"driver", "dspPolicy", "exclusive", "path", "runtimeDir", "serverName", "tryMMap"} {
		m["devices/audio/@"+name] = refuse("guests do not play on the host's own devices")
	}
	return m
}
