package main

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestLanes_ListsAgreeWithTheCode(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		check func(*tree) []string
		files map[string]string
		want  []string
	}{
		"packages that start machines": {
			machines,
			map[string]string{
				machinesFile:                       "# comment\ninternal/a\ninternal/gone # no longer\ninternal/quiet\n",
				"internal/a/a_test.go":             "package a\n\nimport _ \"taproom/internal/daemon/daemontest\"\n",
				"internal/b/b_test.go":             "package b\n\nimport \"os/exec\"\n\nfunc f() { exec.Command(\"qemu-system-x86_64\", \"-S\") }\n",
				"internal/c/c_test.go":             "package c\n\nconst text = \"install qemu-system-x86\"\n\nfunc f() { g(\"qemu-system-x86_64\") }\n",
				"internal/c/c.go":                  "package c\n\nimport _ \"taproom/internal/sandbox\"\n",
				"internal/quiet/a_test.go":         "package quiet\n",
				"internal/sandbox/sandbox_test.go": "package sandbox\n",
			},
			[]string{
				"tools/lane/machines.txt: add internal/b: its tests start QEMU or a daemon",
				"tools/lane/machines.txt: add internal/sandbox: its tests start QEMU or a daemon",
				"tools/lane/machines.txt: remove internal/gone: its tests start neither QEMU nor a daemon",
				"tools/lane/machines.txt: remove internal/quiet: its tests start neither QEMU nor a daemon",
			},
		},
		"packages that never rerun": {
			musts,
			map[string]string{mustFile: "internal/a # data\ninternal/b\n", "internal/a/a_test.go": "package a\n", "internal/b/b.go": "package b\n"},
			[]string{"tools/lane/must.txt: internal/b has no tests: remove or correct the line"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := c.check(repo(t, c.files)); !slices.Equal(got, c.want) {
				t.Errorf("complaints:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

func TestFlakes_AreFewYoungAndDescribed(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	const fine = "2026-11-12 | internal/qemu | TestX | x_test.go:1: no answer | the guest boots slowly\n"
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"none":        {"# comment\n\n", nil},
		"five":        {strings.Repeat(fine, 5), nil},
		"six":         {strings.Repeat(fine, 6), []string{"flakes.txt: 6 known flakes, more than 5: repair some before anything else"}},
		"too old":     {"\n2026-11-09 | internal/qemu | TestX | line | cause\n", []string{"flakes.txt:2: TestX is known since 2026-11-09, more than 14 days: repair it"}},
		"no cause":    {"2026-11-12 | internal/qemu | TestX | line |\n", []string{"flakes.txt:1: it is not: date | package | test | first line of the failure | suspected cause"}},
		"a date of 4": {"12.11.2026 | internal/qemu | TestX | line | cause\n", []string{`flakes.txt:1: invalid date "12.11.2026": it is YYYY-MM-DD`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := flakes(now)(repo(t, map[string]string{flakesFile: c.text})); !slices.Equal(got, c.want) {
				t.Errorf("complaints:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}
