package spec

import "encoding/xml"

// Extra keeps what a document says and this package has no field for. It is embedded in every element type.
type Extra struct {
	Attrs    []xml.Attr `xml:",any,attr"`
	Elements []Element  `xml:",any"`
}

// Element is an element without a type of its own, kept as it was written.
type Element struct {
	XMLName xml.Name
	Attrs   []xml.Attr `xml:",any,attr"`
	Inner   string     `xml:",innerxml"`
}
