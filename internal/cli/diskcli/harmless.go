package diskcli

import "io"

// harmless writes text of which nothing steers a terminal: control characters become question marks, those of ISO 6429 in UTF-8
// (U+0080 to U+009F) too.
type harmless struct {
	w    io.Writer
	last byte
}

// Write implements io.Writer.
func (h *harmless) Write(b []byte) (int, error) {
	out := make([]byte, len(b))
	for i, c := range b {
		out[i] = c
		if c < ' ' && c != '\n' && c != '\t' || c == 0x7f || h.last == 0xc2 && c >= 0x80 && c < 0xa0 {
			out[i] = '?'
		}
		h.last = c
	}
	return h.w.Write(out)
}
