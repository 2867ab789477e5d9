package cli

import (
	"context"
	"errors"
	"time"

	"taproom/internal/doctor"
)

// daemonWithin is how long a daemon may take to say what is wrong.
const daemonWithin = 30 * time.Second

// daemonFindings are the problems that a daemon knows of. None that runs is no finding: nothing here needs one.
func (env *Env) daemonFindings(ctx context.Context) []doctor.Finding {
	const name = "daemon"
	bounded, cancel := context.WithTimeout(ctx, daemonWithin)
	defer cancel()
	c, err := env.connect(bounded, 0)
	var nobody *nobodyError
	switch {
	case errors.As(err, &nobody):
		return nil
	case err != nil:
		return []doctor.Finding{{Name: name, Status: doctor.Unknown, Evidence: err.Error()}}
	}
	defer c.Close()
	status, err := c.Status(bounded)
	switch {
	case err != nil:
		return []doctor.Finding{{Name: name, Status: doctor.Unknown, Evidence: "taproomd does not say how it is: " + err.Error(), Remedy: "journalctl -u taproomd"}}
	case len(status.Problems) == 0:
		return []doctor.Finding{{Name: name, Status: doctor.OK, Evidence: "taproomd runs and knows of no problem"}}
	}
	var out []doctor.Finding
	for _, p := range status.Problems {
		out = append(out, doctor.Finding{Name: name, Status: doctor.Problem, Evidence: p})
	}
	return out
}
