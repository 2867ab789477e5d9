package spec

// Audio is a backend that guests' sound goes to, and comes from.
type Audio struct {
	ID   string `xml:"id,attr"`
	Type string `xml:"type,attr"` // none, spice
	Extra
}
