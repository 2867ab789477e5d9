package diskcli

import "testing"

func TestParseSize_TakesUnitsOf1024(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"512": 512, "1K": 1024, "20G": 20 << 30, "20g": 20 << 30, "3MiB": 3 << 20, "1TB": 1 << 40} {
		if got, err := parseSize(text); got != want || err != nil {
			t.Errorf("%s: %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "G", "0", "-1", "1KM", "1.5G", "9999999T", "1X"} {
		if got, err := parseSize(text); err == nil {
			t.Errorf("%q: %d, want an error", text, got)
		}
	}
}
