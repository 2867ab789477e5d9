package plug

import (
	"taproom/internal/spec"
)

// Change puts a new description of a device in the place of the one that a document has. Of a running guest's it takes what
// can be changed there: a medium, a link's state, a display's password; whatever else differs is refused.
func Change(doc *spec.Domain, by spec.AnyDevice, running bool) error {
	if running {
		if err := Updatable(by); err != nil {
			return err
		}
	}
	v, err := Find(doc, by, running)
	if err != nil && by.Kind == "graphics" {
		v, err = display(doc, by.Value.(*spec.Graphics))
	}
	if err != nil {
		return err
	}
	if by.Alias() == "" {
		by.SetAlias(v.Alias())
	}
	if by.Address() == nil {
		by.SetAddress(v.Address())
	}
	switch n := by.Value.(type) {
	case *spec.Disk:
		return changeDisk(v.Value.(*spec.Disk), n, running)
	case *spec.Interface:
		return changeInterface(v.Value.(*spec.Interface), n, running)
	case *spec.Graphics:
		return changeGraphics(v.Value.(*spec.Graphics), n, running)
	}
	return doc.Devices.Put(v, by)
}

// changeDisk changes a drive's medium; of a definition, all there is of a disk.
func changeDisk(k, by *spec.Disk, running bool) error {
	if !running {
		*k = *by
		return nil
	}
	rest := *by // all but the medium
	rest.Type, rest.Source, rest.BackingStore, rest.Driver = "", nil, nil, nil
	rest.Target.Tray = ""
	if by.Driver != nil {
		driver := *by.Driver
		driver.Type = ""
		rest.Driver = &driver
	}
	if !(spec.AnyDevice{Kind: "disk", Value: k}).Says(spec.AnyDevice{Kind: "disk", Value: &rest}) {
		return refused("of disk %s only the medium can be changed while the guest runs, and of it only that of a cdrom or floppy; use --config", k.Target.Dev)
	}
	k.Type, k.Source, k.BackingStore = by.Type, by.Source, by.BackingStore
	k.Target.Tray = ""
	driver := spec.DiskDriver{Name: "qemu"}
	if k.Driver != nil {
		driver = *k.Driver
	}
	driver.Type = ""
	if by.Driver != nil {
		driver.Type = by.Driver.Type
	}
	k.Driver = &driver
	return nil
}

// display is the display of that type.
func display(doc *spec.Domain, g *spec.Graphics) (spec.AnyDevice, error) {
	for _, v := range doc.Devices.List() {
		if have, ok := v.Value.(*spec.Graphics); ok && have.Type == g.Type {
			return v, nil
		}
	}
	return spec.AnyDevice{}, missing("no graphics device of type %s", g.Type)
}

// changeGraphics changes a display's password; of a definition, all there is of a display.
func changeGraphics(g, by *spec.Graphics, running bool) error {
	if !running {
		*g = *by
		return nil
	}
	rest := *by
	rest.Passwd, rest.PasswdValidTo, rest.Connected, rest.Extra = "", "", "", spec.Extra{}
	rest.Port, rest.TLSPort, rest.WebSocket, rest.Listen, rest.Socket, rest.Listens = "", "", "", "", "", nil // as the document of what runs shows them
	if !(spec.AnyDevice{Kind: "graphics", Value: g}).Says(spec.AnyDevice{Kind: "graphics", Value: &rest}) {
		return refused("of a display only the password can be changed while the guest runs; use --config")
	}
	g.Passwd, g.PasswdValidTo, g.Connected = by.Passwd, by.PasswdValidTo, by.Connected
	return nil
}
