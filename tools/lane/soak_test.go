package main

import (
	"bytes"
	"errors"
	"os/exec"
	"reflect"
	"strings"
	"testing"
)

func TestTouched_AreTestsWithAChangedLineOrAChangedHelper(t *testing.T) {
	t.Parallel()
	files := testPackage{
		"a/a_test.go": "package a\n\nfunc TestOne(t *testing.T) {\n\thelp()\n}\n\nfunc TestTwo(t *testing.T) {\n\t_ = \"testdata/x\"\n}\n\nfunc TestMain(m *testing.M) { help() }\n",
		"a/b_test.go": "package a\n\nconst size = 1\n\nfunc help() { deep() }\n\nfunc deep() { _ = size }\n\nfunc TestThree(t *testing.T) {}\n",
	}
	for name, c := range map[string]struct {
		hunks    map[string][]hunk
		testdata bool
		want     []string
	}{
		"nothing":                    {nil, false, nil},
		"a line of a test":           {map[string][]hunk{"a/a_test.go": {{4, 4}}}, false, []string{"TestOne"}},
		"a constant of a helper":     {map[string][]hunk{"a/b_test.go": {{3, 3}}}, false, []string{"TestOne"}},
		"a blank line between two":   {map[string][]hunk{"a/a_test.go": {{6, 6}}}, false, nil},
		"a new file":                 {map[string][]hunk{"a/b_test.go": {{1, 1 << 30}}}, false, []string{"TestOne", "TestThree"}},
		"a file below testdata":      {nil, true, []string{"TestTwo"}},
		"a file of another package":  {map[string][]hunk{"b/b_test.go": {{1, 9}}}, false, nil},
		"two tests in two hunks":     {map[string][]hunk{"a/a_test.go": {{3, 3}, {9, 9}}}, false, []string{"TestOne", "TestTwo"}},
		"the end of the line before": {map[string][]hunk{"a/a_test.go": {{5, 5}}}, false, []string{"TestOne"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := touched(files, c.hunks, c.testdata)
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %v, %v, want %v", got, err, c.want)
			}
		})
	}
}

func TestParseDiff_ReadsTheLinesOfTheNewFile(t *testing.T) {
	t.Parallel()
	got, err := parseDiff("diff --git a.go a.go\n--- a.go\n+++ a.go\n@@ -1 +2 @@ func f() {\n-x\n+y\n@@ -5,2 +7,3 @@\n@@ -9 +10,0 @@\n--- gone.go\n+++ /dev/null\n@@ -1,3 +0,0 @@\n")
	want := map[string][]hunk{"a.go": {{2, 2}, {7, 9}, {10, 10}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if _, err := parseDiff("+++ a.go\n@@ -1 +x @@\n"); err == nil {
		t.Error("an invalid header is accepted")
	}
}

func TestSoak_RepeatsTouchedTestsAndPrintsHowOftenTheyFail(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		c := exec.Command("git", append([]string{"-C", root, "-c", "user.name=t", "-c", "user.email=t@example.org"}, args...)...)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args[0], err, out)
		}
	}
	odd := "var n int\n\nfunc TestOdd(t *testing.T) {\n\tif n++; n%2 == 1 {\n\t\tt.Fatal(\"odd\")\n\t}\n}\n"
	write(t, root, map[string]string{"go.mod": "module sample\n\ngo 1.26\n", machinesFile: "m\n", mustFile: "", "p/p_test.go": head + fine, "m/m_test.go": head + fine})
	git("init", "-q")
	git("add", "-A")
	git("commit", "-q", "-m", "base")
	if err := runSoak(t.Context(), &bytes.Buffer{}, []string{"-repo", root}); err == nil || !strings.Contains(err.Error(), "no test differs from HEAD") {
		t.Errorf("without a change it returns %v", err)
	}
	write(t, root, map[string]string{"p/p_test.go": head + fine + odd, "m/m_test.go": head + fine + strings.ReplaceAll(odd, "t.Fatal(\"odd\")", "t.Skip(\"odd\")")})
	var out bytes.Buffer
	err := runSoak(t.Context(), &out, []string{"-repo", root, "-times", "6", "-machines", "4"})
	want := "SOAK sample/m TestOdd: 0 of 2 failed\nSOAK sample/p TestOdd: 3 of 6 failed: p_test.go:13: odd\n"
	if !errors.Is(err, errFailed) || out.String() != want {
		t.Errorf("it returns %v and prints\n%s\nwant\n%s", err, out.String(), want)
	}
}
