package engine

// consisting is a guest that runs and of which nothing else is known.
func consisting(of hardware) *running {
	run := &running{}
	run.has.Store(&of)
	return run
}
