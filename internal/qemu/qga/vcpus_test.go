package qga

import (
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

func TestASetOfProcessorsIsReadAsItIsWritten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"0-3,7": "[0 1 2 3 7]", "5": "[5]", "0-4,^2": "[0 1 3 4]", " 1 , 3": "[1 3]"} {
		if got, err := ParseSet(text); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%q is %v (%v), want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "a", "3-1", "-1", "1-", "^1-2", "0-99999999", "1,,2"} {
		if got, err := ParseSet(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOfNDistinct(rapid.Int64Range(0, 200), 1, 50, rapid.ID).Draw(t, "numbers")
		text := Set(numbers)
		if got, err := ParseSet(text); err != nil || fmt.Sprint(got) != fmt.Sprint(numbers) {
			t.Fatalf("%v is written %q and read %v (%v)", numbers, text, got, err)
		}
	})
}

func TestSoManyProcessorsAreInUseAfterwards(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cpus := make([]VCPU, rapid.IntRange(1, 8).Draw(t, "cpus"))
		fixed := 0
		for i := range cpus {
			cpus[i] = VCPU{ID: int64(i), Online: rapid.Bool().Draw(t, "online"), CanOffline: rapid.Bool().Draw(t, "can")}
			if cpus[i].Online && !cpus[i].CanOffline {
				fixed++
			}
		}
		n := rapid.IntRange(1, 9).Draw(t, "n")
		change, err := Toward(cpus, n)
		if (err != nil) != (n > len(cpus) || n < fixed) || err != nil && !errors.Is(err, ErrVCPUs) {
			t.Fatalf("%v toward %d: %v (%v)", cpus, n, change, err)
		}
		if err != nil {
			return
		}
		for _, c := range change {
			if cpus[c.ID].Online == c.Online || !c.Online && !cpus[c.ID].CanOffline {
				t.Fatalf("%v toward %d changes %v", cpus, n, change)
			}
			cpus[c.ID].Online = c.Online
		}
		online := 0
		for _, c := range cpus {
			if c.Online {
				online++
			}
		}
		if online != n {
			t.Fatalf("%d are in use, want %d", online, n)
		}
	})
}
