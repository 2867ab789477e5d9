package firewalld

// SetAround has all calls of firewalld's methods go through a function.
func (b *Backend) SetAround(f func(method string, call func() error) error) { b.bus.around = f }
