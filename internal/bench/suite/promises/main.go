// Command promises takes the figures of a report into PROMISES.md, and says which rows it renewed and why the others stay.
//
//	go run ./internal/bench/suite/promises report/report.json PROMISES.md
//
// Exit codes: 0 rows were renewed, 1 none was or the files cannot be read or written, 2 the command line is wrong.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"taproom/internal/bench/suite"
)

func main() {
	if len(os.Args) != 3 || os.Args[1] == "" {
		fmt.Fprintln(os.Stderr, "usage: make promises REPORT=folder/report.json")
		os.Exit(2)
	}
	if err := renew(os.Args[1], os.Args[2], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "promises:", err)
		os.Exit(1)
	}
}

// renew writes the document anew.
func renew(report, document string, w io.Writer) error {
	r, err := suite.ReadReport(report)
	if err != nil {
		return err
	}
	b, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	p, err := suite.Renew(string(b), r)
	if err != nil {
		return fmt.Errorf("take %s into %s: %w", report, document, err)
	}
	for _, k := range p.Kept {
		fmt.Fprintf(w, "kept: %s: %s\n", k.What, k.Why)
	}
	for _, row := range p.Renewed {
		fmt.Fprintln(w, "renewed:", row)
	}
	if len(p.Renewed) == 0 {
		return errors.New("no row was renewed; the reasons are above")
	}
	return os.WriteFile(document, []byte(p.Text), 0o644)
}
