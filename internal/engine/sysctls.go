package engine

import (
	"fmt"
	"time"

	"taproom/internal/engine/store"
	"taproom/internal/network/state"
)

// changedSysctl is a setting of the machine that was changed, and what it was before. They are not set back when the last
// network goes: by then somebody else may rely on them.
type changedSysctl struct {
	Path string    `json:"path"`
	Old  string    `json:"old"`
	New  string    `json:"new"`
	At   time.Time `json:"at"`
}

// sysctlLog keeps changed settings, one file each, before they are changed.
type sysctlLog struct{ *store.Store[changedSysctl] }

func (l sysctlLog) put(s state.SetSysctl) error {
	c := changedSysctl{Path: s.Path, Old: s.Old, New: s.Value, At: time.Now()}
	if err := l.Put(store.Item[changedSysctl]{Key: sysctlKey(s.Path), Head: c}); err != nil {
		return fmt.Errorf("change setting %s from %s to %s: its old value cannot be written down first: %w", s.Path, s.Old, s.Value, err)
	}
	return nil
}

// sysctlKey is a file name for a path.
func sysctlKey(path string) string {
	key := []byte(path)
	for i, c := range key {
		if c == '/' {
			key[i] = '.'
		}
	}
	return string(key)
}
