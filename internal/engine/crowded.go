package engine

import (
	"slices"

	"taproom/internal/guest"
)

// crowded says of guests that run, by name, which have more NICs than their processors have interrupts for.
func (e *Engine) crowded() []string {
	var out []string
	for _, d := range e.domains.all() {
		if v := d.view(); v.exists() && v.run != nil {
			if how := guest.Crowded(v.run.hardware().doc); how != "" {
				out = append(out, "domain '"+d.label+"': "+how)
			}
		}
	}
	slices.Sort(out)
	return out
}
