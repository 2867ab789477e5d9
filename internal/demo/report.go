package demo

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// WriteText prints the result for a person.
func (r *Result) WriteText(w io.Writer) {
	fmt.Fprintln(w)
	fmt.Fprintf(w, "guest %s on network %s\n", r.Guest, r.Network)
	if r.NoKVM != "" {
		fmt.Fprintf(w, "  accelerator     %s, without KVM: %s\n", r.Accelerator, r.NoKVM)
	} else {
		fmt.Fprintf(w, "  accelerator     %s\n", r.Accelerator)
	}
	fmt.Fprintf(w, "  address         %s (%s), by DHCP\n", r.Address, r.MAC)
	fmt.Fprintf(w, "  host ↔ guest    %d KiB over TCP, every byte came back, %.0f Mbit/s\n", r.HostToGuest.TCPBytes>>10, r.HostToGuest.TCPMbits)
	fmt.Fprintf(w, "  guest ↔ outside %d KiB over TCP at %.0f Mbit/s; UDP %d of %d packets back; seen outside as %s\n",
		r.GuestOut.TCPBytes>>10, r.GuestOut.TCPMbits, r.GuestOut.UDPBack, r.GuestOut.UDPSent, r.SeenFrom)
	fmt.Fprintln(w, "\nhow the start went:")
	waterfall(w, r.Start)
	fmt.Fprintf(w, "\nNothing is left behind. It took %.1f s.\n", r.Took.Seconds())
}

// WriteNext says how to go on, with the programs of a folder, as seen from the current one.
func WriteNext(w io.Writer, programs string) {
	if here, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(here, programs); err == nil && filepath.IsLocal(rel) && rel != "." {
			programs = rel
		}
	}
	tool := filepath.Join(programs, "taproom")
	fmt.Fprintf(w, `
To keep a guest, run the daemon and use virsh as ever:

  %sd --root /tmp/tap &
  %s --root /tmp/tap up --accel auto examples/network.xml examples/guest.xml
  virsh -c 'qemu+unix:///system?socket=/tmp/tap/run/libvirt/libvirt-sock' list --all
`, tool, tool)
}
