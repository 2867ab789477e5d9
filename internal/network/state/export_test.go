package state

// NewFakeFirewall is the fake of this package's tests, for the suite.
func NewFakeFirewall() FirewallBackend { return &fakeFirewall{} }
