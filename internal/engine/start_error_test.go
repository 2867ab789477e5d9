package engine

import "testing"

func TestAQEMUThatLostADisplaysPortIsToldFromOthers(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]bool{
		"2026-01-01T00:00:00Z qemu-system-x86_64: -vnc 127.0.0.1:1: Failed to find an available port: Address already in use\n":             true,
		"qemu-system-x86_64: -vnc 127.0.0.1:1,websocket=127.0.0.1:5700: Failed to find an available port: Address already in use":           true,
		"qemu-system-x86_64: warning: Spice: ../server/reds.cpp:2585:reds_init_socket: binding socket to 127.0.0.1:5900 failed\nand more\n": true,
		"qemu-system-x86_64: -chardev socket,id=a,host=127.0.0.1,port=5900: Failed to find an available port: Address already in use":       false,
		"qemu-system-x86_64: -vnc 127.0.0.1:1: no password":                                                                                 false,
		"Failed to get \"write\" lock; Is another process using the image [/dev/fdset/1]?":                                                  false,
		"": false,
	} {
		if got := lostDisplay(said); got != want {
			t.Errorf("%q: %v, want %v", said, got, want)
		}
	}
}
