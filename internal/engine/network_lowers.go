package engine

import "sync"

// lowers are the host's links that macvtaps of guests lie on, or will: which ports have each. A port has its link from when
// a place was found for it until its name is given back.
type lowers struct {
	mu sync.Mutex
	on map[string]map[string]bool // ids of ports, by link
}

// take has a port be on a link. With alone it reports false for a link that another port is on.
func (l *lowers) take(link, port string, alone bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if alone && len(l.on[link]) > 0 {
		return false
	}
	if l.on == nil {
		l.on = map[string]map[string]bool{}
	}
	if l.on[link] == nil {
		l.on[link] = map[string]bool{}
	}
	l.on[link][port] = true
	return true
}

// release has a port be on no link any more.
func (l *lowers) release(link, port string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.on[link], port)
	if len(l.on[link]) == 0 {
		delete(l.on, link)
	}
}

// count is how many ports are on each of some links.
func (l *lowers) count(links []string) map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[string]int{}
	for _, link := range links {
		out[link] = len(l.on[link])
	}
	return out
}
