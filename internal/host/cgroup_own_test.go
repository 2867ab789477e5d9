package host

import "testing"

func TestTheOwnCgroupIsTheLineOfVersionTwo(t *testing.T) {
	t.Parallel()
	for lines, want := range map[string]string{
		"0::/user.slice/user-1000.slice/user@1000.service/app.slice/taproomd.service\n": "/user.slice/user-1000.slice/user@1000.service/app.slice/taproomd.service",
		"12:cpu:/a\n1:name=systemd:/b\n0::/c\n":                                         "/c",
		"12:cpu:/a\n":                                                                   "",
		"0::/../../elsewhere\n":                                                         "",
		"0::/..\n":                                                                      "",
		"":                                                                              "",
	} {
		if got := ownCgroup(lines); got != want {
			t.Errorf("%q: %q, want %q", lines, got, want)
		}
	}
}
