package qemu

import (
	"fmt"
	"strings"

	"taproom/internal/qemu/spawn"
)

// Shell renders the command for people. A shell cannot make the descriptors that QEMU inherits (listening sockets, tap
// queues, files opened before privileges are dropped), so they are listed as comments above a command that names their
// numbers. about says what a file is; a name it does not know stands for itself.
func (c *Config) Shell(about map[string]string) (string, error) {
	argv, files, err := c.Args(spawn.FirstFD)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for i, name := range files {
		what := name
		if s := about[name]; s != "" {
			what += ": " + s
		}
		fmt.Fprintf(&b, "# descriptor %d: %s\n", spawn.FirstFD+i, strings.ReplaceAll(what, "\n", " "))
	}
	for _, e := range c.Env {
		b.WriteString(quoteAssignment(e) + " ")
	}
	b.WriteString(quote(c.Binary))
	for i, a := range argv {
		if strings.HasPrefix(a, "-") || i == 0 {
			b.WriteString(" \\\n ")
		}
		b.WriteString(" " + quote(a))
	}
	return b.String() + "\n", nil
}

func quoteAssignment(e string) string {
	name, value, _ := strings.Cut(e, "=")
	return name + "=" + quote(value)
}

// quote makes one word of s for a POSIX shell.
func quote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=,@+%", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
