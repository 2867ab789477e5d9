package guest

import (
	"fmt"

	"taproom/internal/qemu"
	"taproom/internal/spec"
)

// soundDriver is QEMU's device of a model; empty for one that is part of the machine.
func soundDriver(model string) (driver string, known bool) {
	driver, known = map[string]string{
		"ich6": "intel-hda", "ich9": "ich9-intel-hda", "ac97": "AC97", "es1370": "ES1370", "sb16": "sb16", "usb": "usb-audio",
		"virtio": "virtio-sound-pci", "pcspk": "",
	}[model]
	return driver, known
}

func soundName(i int) string { return fmt.Sprintf("sound %d", i) }

// sounds settles sound cards, and which backend they play to.
func (c *completer) sounds() error {
	seen := map[string]bool{}
	for i := range c.dev.Sounds {
		s := &c.dev.Sounds[i]
		driver, known := soundDriver(s.Model)
		one := s.Model == "sb16" || s.Model == "pcspk"
		switch {
		case !known:
			return unsupported("sound", "model=%q is not implemented; use ich9", s.Model)
		case !c.fam.pci():
			return unsupported("sound", "machine %s has no sound", c.d.OS.Type.Machine)
		case driver != "" && !c.host.hasDevice(driver):
			return unsupported("sound", "emulator %s has no %s; use model='ich9'", c.dev.Emulator, driver)
		case s.Model == "usb" && c.fam.usb == "":
			return unsupported("sound", "model='usb' needs a USB controller")
		case one && seen[s.Model]:
			return unsupported("sound", "only one card of model %s is possible", s.Model)
		case s.Audio != nil && !c.hasAudio(s.Audio.ID):
			return invalid("sound/audio", "there is no <audio> with id %s", s.Audio.ID)
		}
		seen[s.Model] = true
	}
	return nil
}

func (c *completer) hasAudio(id string) bool {
	for _, a := range c.dev.Audios {
		if a.ID == id {
			return true
		}
	}
	return false
}

// soundPlug is what a card needs of PCI; 0 for one that is not on PCI.
func soundPlug(model string) plug {
	switch model {
	case "usb", "sb16", "pcspk":
		return 0
	case "virtio":
		return plugPCIe | hot
	}
	return plugPCI | hot
}

// sounds makes the cards and their codecs.
func (c *compiler) sounds() error {
	for i := range c.dev.Sounds {
		s := &c.dev.Sounds[i]
		id := audioID(c.dev.Audios[0].ID)
		if s.Audio != nil {
			id = audioID(s.Audio.ID)
		}
		if s.Model == "pcspk" {
			c.cfg.Machine.Props = c.cfg.Machine.Props.With("pcspk-audiodev", id)
			continue
		}
		driver, _ := soundDriver(s.Model)
		p := device(driver, s.Alias.Name)
		hda := s.Model == "ich6" || s.Model == "ich9"
		if !hda {
			p = p.With("audiodev", id)
		}
		if s.MultiChannel != "" {
			p = p.With("multi", spec.IsYes(s.MultiChannel))
		}
		if n, err := number(s.Streams); err == nil && n > 0 {
			p = p.With("streams", n)
		}
		if err := c.device(p, s.Address); err != nil {
			return err
		}
		if hda {
			if err := c.codecs(s, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// codecs are what a card of high definition audio plays and records with: one that does both, unless the document says.
func (c *compiler) codecs(s *spec.Sound, audio string) error {
	list := s.Codecs
	if len(list) == 0 {
		list = []spec.SoundCodec{{Type: "duplex"}}
	}
	for i, k := range list {
		p := qemu.Props{
			{Key: "driver", Value: "hda-" + k.Type},
			{Key: "id", Value: fmt.Sprintf("%s-codec%d", s.Alias.Name, i)},
			{Key: "bus", Value: s.Alias.Name + ".0"},
			{Key: "cad", Value: i},
			{Key: "audiodev", Value: audio},
		}
		if err := c.device(p, nil); err != nil {
			return err
		}
	}
	return nil
}
