package proxy

// Limit bounds how many there are of something. A nil one does not.
type Limit struct{ slots chan struct{} }

// NewLimit returns a limit of n.
func NewLimit(n int) *Limit { return &Limit{slots: make(chan struct{}, n)} }

func (l *Limit) take() bool {
	if l == nil {
		return true
	}
	select {
	case l.slots <- struct{}{}:
		return true
	default:
		return false
	}
}

func (l *Limit) give() {
	if l != nil {
		<-l.slots
	}
}
