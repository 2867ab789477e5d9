package spec

// Sound is a sound card: ich6, ich9, ac97, es1370, sb16, usb, virtio or pcspk.
type Sound struct {
	Model        string         `xml:"model,attr"`
	MultiChannel string         `xml:"multichannel,attr,omitempty"` // of usb
	Streams      string         `xml:"streams,attr,omitempty"`      // of virtio
	Codecs       []SoundCodec   `xml:"codec"`                       // of ich6 and ich9
	Audio        *GraphicsAudio `xml:"audio"`
	Driver       *Element       `xml:"driver"`
	Alias        *Alias         `xml:"alias"`
	Address      *Address       `xml:"address"`
	Extra
}

// SoundCodec is duplex, micro or output.
type SoundCodec struct {
	Type string `xml:"type,attr"`
	Extra
}

func soundRules() map[string]rule {
	return map[string]rule{
		"devices/sound/@model":        values("ich6 ich9 ac97 es1370 sb16 usb virtio pcspk", "ich7"),
		"devices/sound/@multichannel": yesNo(),
		"devices/sound/@streams":      number(1, 64),
		"devices/sound/codec/@type":   values("duplex micro output", ""),
		"devices/sound/audio/@id":     number(1, 1<<31-1),
	}
}

func (s *Sound) check() error {
	const at = "devices/sound/"
	switch {
	case s.Model == "":
		return invalid(at+"@model", "it is missing; use ich9")
	case len(s.Codecs) > 0 && s.Model != "ich6" && s.Model != "ich9":
		return invalid(at+"codec", "it is for models ich6 and ich9")
	case s.MultiChannel != "" && s.Model != "usb":
		return invalid(at+"@multichannel", "it is for model usb")
	case s.Streams != "" && s.Model != "virtio":
		return invalid(at+"@streams", "it is for model virtio")
	}
	return nil
}
