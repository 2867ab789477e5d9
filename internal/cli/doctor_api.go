package cli

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"taproom/internal/api/client"
	"taproom/internal/api/own"
)

// doctorAPI prints what clients called and the daemon does not serve.
func (env *Env) doctorAPI(ctx context.Context) error {
	return env.with(ctx, func(d *client.Client) error {
		m, err := d.Missing(ctx)
		if err != nil {
			return err
		}
		return env.print(m, func(w io.Writer) error { return writeMissing(w, m) })
	})
}

func writeMissing(w io.Writer, m own.Missing) error {
	since := time.Unix(m.Since, 0).Format(time.DateTime)
	if len(m.Calls) == 0 {
		_, err := fmt.Fprintf(w, "Every call that clients made since %s is served.\n", since)
		return err
	}
	rows := [][]string{{"COUNT", "CLIENT", "CALL", "LAST"}}
	for _, c := range m.Calls {
		rows = append(rows, []string{strconv.FormatUint(c.Count, 10), c.Client, c.Call, time.Unix(c.Last, 0).Format(time.DateTime)})
	}
	if err := writeTable(w, rows); err != nil {
		return err
	}
	more := ""
	if m.Others > 0 {
		more = fmt.Sprintf("; %d more calls were of other kinds, or by other clients, than could be told apart", m.Others)
	}
	_, err := fmt.Fprintf(w, "Counted since %s%s.\n", since, more)
	return err
}
