package cli

import (
	"fmt"
	"io"
	"os"

	"taproom/internal/api/own"
)

// largestDocument bounds what is read from a file: libvirt's own protocol would not carry more.
const largestDocument = 16 << 20

// readDocuments reads XML documents; "-" is standard input.
func (env *Env) readDocuments(names []string) ([]own.Document, error) {
	var docs []own.Document
	for _, name := range names {
		doc, err := env.readDocument(name)
		if err != nil {
			return nil, err
		}
		docs = append(docs, own.Document{Name: name, XML: doc})
	}
	return docs, nil
}

func (env *Env) readDocument(name string) (string, error) {
	r := env.Stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return "", fmt.Errorf("read document: %w", err)
		}
		defer f.Close()
		r = f
	}
	b, err := io.ReadAll(io.LimitReader(r, largestDocument+1))
	if err != nil {
		return "", fmt.Errorf("read document: %w", err)
	}
	if len(b) > largestDocument {
		return "", fmt.Errorf("read document %s: larger than %d MiB: that is no domain or network", name, largestDocument>>20)
	}
	return string(b), nil
}
