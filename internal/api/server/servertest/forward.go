package servertest

import (
	"context"

	"taproom/internal/api/own"
)

// FakeForward is the one forward of a Fake.
func FakeForward(network string) own.Forward {
	return own.Forward{
		Network: network, Protocol: "tcp", Port: 8080, End: 8080, To: "web1", ToPort: 80, Live: []string{"192.168.122.17"},
	}
}

// Forwards implements server.Forwards.
func (f *Fake) Forwards(_ context.Context, name string) ([]own.Forward, error) {
	if name == "" {
		name = "default"
	}
	if _, err := f.NetworkByName(name); err != nil {
		return nil, err
	}
	return []own.Forward{FakeForward(name)}, f.enter("Forwards")
}
