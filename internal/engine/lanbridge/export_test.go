package lanbridge

// Abandon ends the timers and nothing else, as when the process is killed.
func (m *Mover) Abandon() {
	m.cancel()
	m.work.Wait()
}

// Rest waits until no timer runs.
func (m *Mover) Rest() { m.work.Wait() }
