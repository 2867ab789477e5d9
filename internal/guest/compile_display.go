package guest

import (
	"taproom/internal/qemu"
	"taproom/internal/spec"
)

func (c *compiler) inputs() error {
	for i := range c.dev.Inputs {
		n := &c.dev.Inputs[i]
		var driver string
		switch n.Bus {
		case "usb":
			driver = map[string]string{"mouse": "usb-mouse", "keyboard": "usb-kbd", "tablet": "usb-tablet"}[n.Type]
		case "virtio":
			driver = c.virtio("virtio-"+n.Type, "")
		default:
			continue // PS/2 is on board
		}
		if err := c.device(device(driver, n.Alias.Name), n.Address); err != nil {
			return err
		}
	}
	return nil
}

func (c *compiler) videos() error {
	for i := range c.dev.Videos {
		v := &c.dev.Videos[i]
		if v.Model.Type == "none" {
			continue
		}
		p, err := c.video(v, i == 0)
		if err != nil {
			return err
		}
		if err := c.device(p, v.Address); err != nil {
			return err
		}
	}
	return nil
}

func (c *compiler) video(v *spec.Video, primary bool) (qemu.Props, error) {
	m := &v.Model
	var kib [4]int
	for i, n := range []struct{ name, value string }{{"ram", m.RAM}, {"vram", m.VRAM}, {"vram64", m.VRAM64}, {"vgamem", m.VGAMem}} {
		var err error
		if kib[i], err = number(n.value); err != nil {
			return nil, invalid("video/model", "%s=%q is no number of KiB", n.name, n.value)
		}
	}
	heads, err := number(def(m.Heads, "1"))
	if err != nil || heads < 1 {
		return nil, invalid("video/model", "heads=%q is no number from 1", m.Heads)
	}
	vram := kib[1]
	var p qemu.Props
	switch m.Type {
	case "vga":
		p = device("VGA", v.Alias.Name)
		if vram > 0 {
			p = p.With("vgamem_mb", (vram+1023)/1024)
		}
	case "cirrus":
		return device("cirrus-vga", v.Alias.Name), nil
	case "ramfb":
		return device("ramfb", v.Alias.Name), nil
	case "bochs":
		p = device("bochs-display", v.Alias.Name)
		if vram > 0 {
			p = p.With("vgamem", vram*1024)
		}
	case "qxl":
		p = device(map[bool]string{true: "qxl-vga", false: "qxl"}[primary], v.Alias.Name).With("max_outputs", heads).
			With("ram_size", uint64(kib[0])<<10).With("vram_size", uint64(vram)<<10).
			With("vram64_size_mb", kib[2]/1024).With("vgamem_mb", (kib[3]+1023)/1024)
	case "virtio":
		driver := map[bool]string{true: "virtio-vga", false: "virtio-gpu-pci"}[primary]
		p = device(driver, v.Alias.Name).With("max_outputs", heads)
	default:
		return nil, unsupported("video/model", "type=%q is not implemented", m.Type)
	}
	return firstResolution(p, m.Resolution)
}

// firstResolution is what a card tells the guest of its screen.
func firstResolution(p qemu.Props, r *spec.Resolution) (qemu.Props, error) {
	if r == nil {
		return p, nil
	}
	x, err := number(r.X)
	y, err2 := number(r.Y)
	if err != nil || err2 != nil || x == 0 || y == 0 {
		return nil, invalid("video/model/resolution", "x=%q y=%q are no numbers of pixels", r.X, r.Y)
	}
	return p.With("xres", x).With("yres", y), nil
}
