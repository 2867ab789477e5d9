package spec

// ParseCPU reads a <cpu> that stands alone. Errors are of type *SyntaxError or *InvalidError.
func ParseCPU(doc []byte) (*CPU, error) {
	c := new(CPU)
	if err := decodeDocument(doc, "cpu", c); err != nil {
		return nil, err
	}
	for _, f := range c.Features {
		if f.Name == "" {
			return nil, invalid("cpu/feature", "it has no name")
		}
	}
	return c, nil
}

// Format returns the processor as a document of its own.
func (c *CPU) Format() []byte { return formatDocument("cpu", c) }
