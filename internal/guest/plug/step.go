package plug

import (
	"taproom/internal/qemu"
)

// Step is one command to QEMU's monitor.
type Step struct {
	Command string
	Args    qemu.Props
	File    string // passed beside the command; "" for none
	// Leaves is the device that is gone only when the guest has let go of it (DEVICE_DELETED).
	Leaves string
	// Opens is the drive whose guest may have to be waited for before its tray opens (DEVICE_TRAY_MOVED).
	Opens string
	// Lenient marks what may be gone already, which cannot be asked beforehand.
	Lenient bool
}

// String is the command as in a transcript: netdev_add {"type":"tap",…} < tap0.0. A password is not part of it.
func (s Step) String() string {
	out := s.Command
	if s.Command == "set_password" {
		return out + " …"
	}
	if len(s.Args) > 0 {
		b, err := s.Args.MarshalJSON()
		if err != nil {
			return out + " " + err.Error()
		}
		out += " " + string(b)
	}
	if s.File != "" {
		out += " < " + s.File
	}
	return out
}

// Files are the names of the descriptors that the steps need, each once.
func Files(steps []Step) []string {
	var out []string
	for _, s := range steps {
		if s.File != "" {
			out = append(out, s.File)
		}
	}
	return out
}

// step is a command with arguments, given as pairs.
func step(command string, args ...any) Step {
	s := Step{Command: command}
	for i := 0; i < len(args); i += 2 {
		s.Args = s.Args.With(args[i].(string), args[i+1])
	}
	return s
}

// given are the steps that pass the descriptors a command names, and its arguments with their names in their place.
func given(p qemu.Props) (before []Step, named qemu.Props) {
	for _, f := range p.Files() {
		s := step("getfd", "fdname", f)
		s.File = f
		before = append(before, s)
	}
	return before, resolve(p).(qemu.Props)
}

// resolve puts names in the place of descriptors.
func resolve(v any) any {
	switch v := v.(type) {
	case qemu.Props:
		out := make(qemu.Props, len(v))
		for i, p := range v {
			out[i] = qemu.Property{Key: p.Key, Value: resolve(p.Value)}
		}
		return out
	case []qemu.Props:
		out := make([]qemu.Props, len(v))
		for i, p := range v {
			out[i] = resolve(p).(qemu.Props)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = resolve(e)
		}
		return out
	case qemu.FD:
		return string(v)
	case qemu.FDs:
		joined := ""
		for i, n := range v {
			if i > 0 {
				joined += ":"
			}
			joined += n
		}
		return joined
	}
	return v
}
