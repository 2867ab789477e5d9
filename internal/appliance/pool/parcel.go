package pool

import (
	"encoding/json"
	"os"
)

// Parcel is an appliance on its way to its owner: what has to be known of it, and its descriptors. The last copy of its leash,
// which is one of them, keeps it alive.
type Parcel struct {
	Facts json.RawMessage
	Files []*os.File
}

// Close closes the descriptors, once they were sent or when nobody wants them.
func (p *Parcel) Close() {
	for _, f := range p.Files {
		_ = f.Close()
	}
}
