package server

import (
	"context"
	"io"
	"os"

	"taproom/internal/spec"
)

// Displays connects clients to what a guest shows, and to its channels.
type Displays interface {
	// OpenGraphics gives a socket of the client's to a display; index counts the document's. Flag OpenGraphicsSkipAuth asks
	// for no password. The caller closes the socket, which is the display's own by then.
	OpenGraphics(ctx context.Context, uuid spec.UUID, index uint32, socket *os.File, flags uint32) error
	// OpenGraphicsFD does the same with a socket that it makes, and returns the client's end. The caller closes it.
	OpenGraphicsFD(ctx context.Context, uuid spec.UUID, index, flags uint32) (*os.File, error)
	// OpenChannel connects to a channel on a unix socket: name is its alias or what the guest calls it, "" the first one. Flag
	// ChannelForce disconnects who has it.
	OpenChannel(ctx context.Context, uuid spec.UUID, name string, flags uint32) (io.ReadWriteCloser, error)
}

// OpenGraphicsSkipAuth is a flag of OpenGraphics: the client has shown who it is to this daemon.
const OpenGraphicsSkipAuth = 1

// ChannelForce is a flag of OpenChannel.
const ChannelForce = 1
