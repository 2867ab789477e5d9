package kbuild

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"
	"time"

	"taproom/internal/appliance/cache"
)

func TestAnotherBuildGivesTheSameBytes(t *testing.T) {
	if os.Getenv("TAPROOM_APPLIANCE") != "twice" {
		t.Skip("it builds a kernel, which takes minutes: make appliance-twice")
	}
	for _, config := range []Config{Appliance(), Guest()} { // one after the other: each takes all processors
		t.Run(config.Name, func(t *testing.T) { builtAgain(t, config) })
	}
}

func builtAgain(t *testing.T, config Config) {
	machine, err := cache.Open("")
	if err != nil {
		t.Fatal(err)
	}
	again := testCache(t)
	began := time.Now()
	k, err := Build(t.Context(), again, config, Options{Check: accept, Progress: func(what string) { t.Log(time.Since(began).Round(time.Second), what) }})
	if err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile(filepath.Join(machine.Path(folder), k.Version, imageName))
	if err != nil {
		t.Fatalf("%v: the first build is of other sources: make appliance", err)
	}
	second, err := os.ReadFile(k.Image)
	if err != nil {
		t.Fatal(err)
	}
	sums := [2][32]byte{sha256.Sum256(first), sha256.Sum256(second)}
	t.Logf("%s: %d bytes, %s", k.Version, len(second), hex.EncodeToString(sums[1][:]))
	if sums[0] != sums[1] {
		t.Errorf("the first build has %d bytes, %s", len(first), hex.EncodeToString(sums[0][:]))
	}
}
