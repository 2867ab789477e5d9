package host

import (
	"os"
	"testing"
)

func TestAUserRunsWhereAProcessIsHis(t *testing.T) {
	t.Parallel()
	k := New(Options{})
	if runs, err := k.UserRuns(uint32(os.Getuid())); err != nil || !runs {
		t.Errorf("the user of this test: %v, %v", runs, err)
	}
	const nobodys = 3_899_999_999 // before those of appliances
	if runs, err := k.UserRuns(nobodys); err != nil || runs {
		t.Errorf("a user that nobody is: %v, %v", runs, err)
	}
}
