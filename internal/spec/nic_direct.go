package spec

// checkDirect checks what only macvtaps have.
func (n *Interface) checkDirect() error {
	const at = "devices/interface/source/"
	src := n.Source
	if src == nil {
		src = &InterfaceSource{}
	}
	switch {
	case n.Type != "direct" && src.Mode != "":
		return unsupported(at+"@mode", "it is for type='direct'")
	case n.Type != "direct":
		return nil
	case src.Dev == "":
		return invalid(at+"@dev", "it is missing: the link of the host that the macvtap lies on")
	case !linkName(src.Dev):
		return invalid(at+"@dev", "%q is no name of a link (1 to 15 characters, no '/', no white space)", src.Dev)
	}
	return nil
}
