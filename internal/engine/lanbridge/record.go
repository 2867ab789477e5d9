package lanbridge

import (
	"fmt"

	"taproom/internal/engine/store"
	"taproom/internal/network/lan"
	"taproom/internal/network/lanfiles"
)

// State is how far a move has got.
type State string

// States of moves. A daemon that finds one that is on its way goes on from there: forth from Keeping, back from the others.
const (
	Moving  State = "moving"
	Waiting State = "waiting" // it is on trial
	Keeping State = "keeping" // files are being written
	Kept    State = "kept"
	Undoing State = "undoing"
)

// record is what is written down of a bridge, under its name.
type record struct {
	Bridge   string            `json:"bridge"`
	NIC      string            `json:"nic"`
	State    State             `json:"state"`
	Boot     string            `json:"boot"`
	Deadline int64             `json:"deadline"` // time since boot, in nanoseconds
	Before   lan.Layout        `json:"before"`
	Manager  string            `json:"manager,omitempty"`
	Then     string            `json:"then,omitempty"`
	Notes    []string          `json:"notes,omitempty"`
	Files    []lanfiles.Change `json:"files,omitempty"`
}

func (m *Mover) put(r *record) error {
	if err := m.records.Put(store.Item[record]{Key: r.Bridge, Head: *r}); err != nil {
		return fmt.Errorf("write down what becomes of %s: %w", r.NIC, err)
	}
	return nil
}

// all reads every record. One that is damaged is set aside, and told of.
func (m *Mover) all() ([]*record, error) {
	items, damaged, err := m.records.Load()
	if err != nil {
		return nil, err
	}
	for _, d := range damaged {
		m.Problem(fmt.Sprintf("%v: how bridge %s was made is not known any more, so taproom net bridge --undo cannot remove it", d, d.Key))
	}
	var out []*record
	for _, i := range items {
		out = append(out, &i.Head)
	}
	return out, nil
}

// of is the record of a bridge.
func (m *Mover) of(bridge string) (*record, error) {
	all, err := m.all()
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		if r.Bridge == bridge {
			return r, nil
		}
	}
	return nil, fmt.Errorf("%w %s; taproom net bridge lists them", ErrUnknown, bridge)
}
