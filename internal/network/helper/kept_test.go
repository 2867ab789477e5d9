package helper_test

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/network/helper"
	"taproom/internal/network/packet"
	"taproom/internal/network/packet/packettest"
)

// killed ends the helper as a crash would and waits until that is known.
func (s *site) killed() (old *helper.Helper) {
	s.t.Helper()
	if err := unix.Kill(s.h.Hello().PID, unix.SIGKILL); err != nil {
		s.t.Fatal(err)
	}
	select {
	case <-s.h.Lost():
	case <-s.ctx.Done():
		s.t.Fatal("nobody heard that the helper ended")
	}
	return s.h
}

// succeed opens the next helper, which gets what the daemon holds of one that was lost.
func (s *site) succeed(old *helper.Helper) {
	s.t.Helper()
	s.open()
	s.h.Inherit(old)
	if err := old.Close(); err != nil {
		s.t.Error(err)
	}
}

// keeps waits until the daemon holds the packet socket of dual.
func (s *site) keeps() {
	s.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !s.h.Keeps(dual().UUID) {
		select {
		case <-tick.C:
		case <-s.ctx.Done():
			s.t.Fatal("the helper's packet socket was not borrowed")
		}
	}
}

// isOffer reports whether a frame is an answer of DHCP for a network card.
func isOffer(mac packet.MAC) func(frame []byte) bool {
	return func(frame []byte) bool {
		d, err := packet.ParseUDP4(frame, true)
		return err == nil && d.Dst.Port() == 68 && len(d.Payload) > 240 && packet.MAC(d.Payload[28:34]) == mac
	}
}

func TestWhatAGuestAsksWhileThereIsNoHelperIsAnsweredByTheNext(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	index := s.serveDual(dual())
	g := s.guest("virbr9", "52:54:00:09:00:05")
	port := packettest.Open(t, g.ns, "eth0")
	ask := func(last byte) packet.MAC {
		mac := packet.MAC{0x52, 0x54, 0, 9, 1, last}
		port.Send(discoverFrame(t, mac))
		return mac
	}
	old := s.killed()
	waits := ask(1)
	s.succeed(old)
	s.set(dual(), index)
	port.Await(isOffer(waits))

	// A daemon that finds the helper running can do as much, once it has asked for the sockets.
	if err := s.h.Close(); err != nil {
		t.Fatal(err)
	}
	s.open()
	if !s.h.Adopted() {
		t.Fatal("the helper was not found")
	}
	s.keeps()
	old = s.killed()
	waits = ask(2)
	s.succeed(old)
	s.set(dual(), index)
	port.Await(isOffer(waits))
}

func TestASocketIsHeldAsLongAsItsNetworkNeedsIt(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	n := dual()
	index := s.serveDual(n)
	var got []bool
	look := func() { got = append(got, s.h.Keeps(n.UUID)) }
	look()
	plain := n
	plain.DHCP4, plain.DHCP6, plain.RA = nil, nil, nil
	s.set(plain, index)
	look()
	s.set(n, index)
	look()
	if err := s.h.Remove(s.ctx, n.UUID); err != nil {
		t.Fatal(err)
	}
	look()
	want := [...]bool{true, false, true, false}
	if [4]bool(got) != want {
		t.Errorf("held after each step: %v, want %v", got, want)
	}
}
