package diskcli

import (
	"errors"
	"strings"
	"testing"

	"taproom/disk"
)

func TestBegun_NamesTheSizeThatIsRepeated(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	grown := disk.Resized{Old: 1 << 30, New: 6 << 30, Steps: []string{"image", "resize2fs /dev/sda1"}}
	if err := begun(grown, false, failed); !errors.Is(err, failed) || !strings.Contains(err.Error(), "image, resize2fs /dev/sda1") || !strings.HasSuffix(err.Error(), "size 6442450944") {
		t.Errorf("got %v", err)
	}
	for _, err := range []error{begun(disk.Resized{New: 1}, false, failed), begun(grown, true, failed)} {
		if err.Error() != "failed" {
			t.Errorf("nothing was changed: %v", err)
		}
	}
}

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
