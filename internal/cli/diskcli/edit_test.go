package diskcli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhatWasEditedIsKeptWhereItCannotBeWritten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		command string
		fails   error
		kept    bool
	}{
		{command: "sed -i s/one/two/"},
		{command: "sed -i s/one/two/", fails: io.ErrShortWrite, kept: true},
		{command: "false"},
	} {
		e := edited{env: &Env{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard}, name: "a file", command: c.command}
		text, err := e.edit(t.Context(), []byte("one\n"))
		if c.command == "false" {
			if err == nil || !strings.Contains(err.Error(), "set EDITOR") {
				t.Errorf("an editor that fails: %q, %v", text, err)
			}
		} else if string(text) != "two\n" || err != nil {
			t.Errorf("%q, %v", text, err)
		}
		err = e.end(errors.Join(err, c.fails))
		if _, gone := os.Stat(e.dir); c.kept != (gone == nil) {
			t.Errorf("%s: kept %v, want %v", c.command, gone == nil, c.kept)
		}
		if c.kept && !strings.HasSuffix(err.Error(), "; what was edited is kept in "+filepath.Join(e.dir, "a file")) {
			t.Errorf("%v", err)
		}
		if err := os.RemoveAll(e.dir); err != nil {
			t.Error(err)
		}
	}
}
