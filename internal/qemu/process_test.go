package qemu

import "testing"

func TestWhatQEMUWroteIsOneLineOfPlainText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                               "",
		"\n one\ntwo\t2 \n":              "one; two 2",
		"\x1b[2Jclear\x00\r\nnul \x9b1m": " [2Jclear  ; nul ?1m",
		"é ✓":                            "é ✓",
	} {
		if got := oneLine(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
