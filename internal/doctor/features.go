package doctor

import (
	"context"
	"errors"
	"fmt"

	"taproom/internal/host"
	"taproom/internal/host/probe"
)

// checkFeatures reports what of the kernel networks, NICs and limits are made of, each by having tried it.
func checkFeatures(_ context.Context, e Env) []Finding {
	results, err := probe.Features(e.Kernel)
	if err != nil {
		return []Finding{{"kernel", Unknown, err.Error(), "run as root"}}
	}
	out := make([]Finding, 0, len(results))
	for _, r := range results {
		f := Finding{Name: "kernel." + r.Feature.Name, Status: OK, Evidence: "works"}
		var m *host.Missing
		switch {
		case errors.As(r.Err, &m):
			f.Status, f.Evidence = Warning, m.Error()
			if r.Feature.Vital {
				f.Status = Problem
			}
			f.Remedy = fmt.Sprintf("a kernel with %s; without it %s", m.Config, r.Feature.Need)
		case r.Err != nil:
			f.Status, f.Evidence = Unknown, r.Err.Error()
		}
		out = append(out, f)
	}
	return out
}
