package cli

import (
	"errors"
	"fmt"
	"io"
	"os"

	"taproom/internal/api/own"
)

// readDocuments reads XML documents; "-" is standard input. Nothing is asked of the daemon before all could be read.
func (env *Env) readDocuments(names []string) ([]own.Document, error) {
	docs := make([]own.Document, 0, len(names))
	read := map[string]bool{}
	for _, name := range names {
		if read[name] {
			return nil, &usageError{fmt.Errorf("%s is named twice", name)}
		}
		read[name] = true
		doc, err := env.readDocument(name)
		if err != nil {
			return nil, err
		}
		docs = append(docs, doc)
	}
	return docs, nil
}

func (env *Env) readDocument(name string) (own.Document, error) {
	if name == "-" {
		return readAll("standard input", env.Stdin)
	}
	f, err := os.Open(name)
	if err != nil {
		return own.Document{}, fmt.Errorf("read %s: %w", name, reason(err))
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return own.Document{}, fmt.Errorf("read %s: it is a directory; name the documents in it: %s/*.xml", name, name)
	}
	return readAll(name, f)
}

func readAll(name string, r io.Reader) (own.Document, error) {
	b, err := io.ReadAll(io.LimitReader(r, own.MaxDocument+1))
	switch {
	case err != nil:
		return own.Document{}, fmt.Errorf("read %s: %w", name, reason(err))
	case len(b) > own.MaxDocument:
		return own.Document{}, fmt.Errorf("read %s: it is larger than %d MiB, which no domain or network is", name, own.MaxDocument>>20)
	}
	return own.Document{Name: name, XML: string(b)}, nil
}

// reason is why a call on a file failed, without the call and the name, which the message has already.
func reason(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
