package engine

import (
	"taproom/internal/engine/store"
	"taproom/internal/network/firewall/firewalld"
)

// zoneRecord is what firewalld's permanent configuration has because of us: it outlives the daemon and the machine's run, so
// what is to be taken out of it does, too.
type zoneRecord struct {
	files  *store.Store[zoneBridges]
	engine *Engine
}

var _ firewalld.Record = zoneRecord{}

// zoneBridges are bridges in one zone.
type zoneBridges struct {
	Bridges []string `json:"bridges"`
}

func (e *Engine) openZoneRecord() (zoneRecord, error) {
	files, err := store.Open[zoneBridges](e.k, e.paths.Zones(), true)
	return zoneRecord{files, e}, err
}

// Load implements firewalld.Record. Of a damaged file it is not known what it said: what is there counts as an administrator's.
func (r zoneRecord) Load() ([]string, error) {
	items, damaged, err := r.files.Load()
	if err != nil {
		return nil, err
	}
	r.engine.problem.damaged(r.engine.log, damaged, "; bridges of networks that have gone may stay in zone "+firewalld.Zone+" of firewalld's permanent configuration")
	var out []string
	for _, i := range items {
		out = append(out, i.Head.Bridges...)
	}
	return out, nil
}

// Save implements firewalld.Record.
func (r zoneRecord) Save(bridges []string) error {
	if len(bridges) == 0 {
		return r.files.Delete(firewalld.Zone)
	}
	return r.files.Put(store.Item[zoneBridges]{Key: firewalld.Zone, Head: zoneBridges{bridges}})
}
