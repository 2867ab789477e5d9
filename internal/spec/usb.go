package spec

// Smartcard is a card reader whose card is at the other end of a SPICE connection.
type Smartcard struct {
	Mode     string         `xml:"mode,attr"` // passthrough
	Type     string         `xml:"type,attr,omitempty"`
	Source   *ChardevSource `xml:"source"`
	Protocol *Element       `xml:"protocol"`
	Log      *Element       `xml:"log"`
	Alias    *Alias         `xml:"alias"`
	Address  *Address       `xml:"address"`
	Extra
}

// RedirDev is a USB device that a client plugs in from afar, over SPICE or TCP.
type RedirDev struct {
	Bus      string         `xml:"bus,attr"` // usb
	Type     string         `xml:"type,attr"`
	Source   *ChardevSource `xml:"source"`
	Protocol *Element       `xml:"protocol"`
	Log      *Element       `xml:"log"`
	Boot     *Boot          `xml:"boot"`
	Alias    *Alias         `xml:"alias"`
	Address  *Address       `xml:"address"`
	Extra
}

// RedirFilter says which USB devices may be redirected. The first rule that fits a device decides.
type RedirFilter struct {
	Devices []RedirRule `xml:"usbdev"`
	Extra
}

// RedirRule allows a device or not; what is not given fits all.
type RedirRule struct {
	Class   string `xml:"class,attr,omitempty"`
	Vendor  string `xml:"vendor,attr,omitempty"`
	Product string `xml:"product,attr,omitempty"`
	Version string `xml:"version,attr,omitempty"` // 2.56, in binary-coded decimal
	Allow   string `xml:"allow,attr"`
	Extra
}

// Hub is a USB hub.
type Hub struct {
	Type    string   `xml:"type,attr"` // usb
	Alias   *Alias   `xml:"alias"`
	Address *Address `xml:"address"`
	Extra
}

func usbRules() map[string]rule {
	id := pattern(`-1|0[xX][0-9a-fA-F]{1,4}`, "a hexadecimal number such as 0x1234")
	return map[string]rule{
		"devices/smartcard/@mode":             values("passthrough", "host host-certificates"),
		"devices/smartcard/certificate":       refuse("cards are passed through, and not made of certificates"),
		"devices/smartcard/database":          refuse("cards are passed through, and not made of certificates"),
		"devices/redirdev/@bus":               values("usb", ""),
		"devices/redirfilter/usbdev/@class":   pattern(`-1|0[xX][0-9a-fA-F]{1,2}`, "a hexadecimal number such as 0x08"),
		"devices/redirfilter/usbdev/@vendor":  id,
		"devices/redirfilter/usbdev/@product": id,
		"devices/redirfilter/usbdev/@version": pattern(`-1|[0-9]{1,2}(\.[0-9]{1,2})?`, "a version such as 2.56"),
		"devices/redirfilter/usbdev/@allow":   yesNo(),
		"devices/hub/@type":                   values("usb", ""),
	}
}

func (d *Devices) checkUSB() error {
	for i := range d.Smartcards {
		s := &d.Smartcards[i]
		if s.Mode == "" || s.Type == "" {
			return invalid("devices/smartcard", "mode and type are both needed (smartcard %d)", i+1)
		}
		if err := checkHostSide("smartcard", i+1, s.Type, s.Source, s.Protocol); err != nil {
			return err
		}
	}
	for i := range d.RedirDevs {
		r := &d.RedirDevs[i]
		if r.Type == "" {
			return invalid("devices/redirdev/@type", "it is missing (redirdev %d)", i+1)
		}
		if err := checkHostSide("redirdev", i+1, r.Type, r.Source, r.Protocol); err != nil {
			return err
		}
	}
	if d.RedirFilter != nil {
		for i, r := range d.RedirFilter.Devices {
			if r.Allow == "" {
				return invalid("devices/redirfilter/usbdev/@allow", "it is missing (rule %d)", i+1)
			}
		}
	}
	for i := range d.Hubs {
		if d.Hubs[i].Type == "" {
			return invalid("devices/hub/@type", "it is missing (hub %d)", i+1)
		}
	}
	return nil
}
