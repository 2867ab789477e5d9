package daemontest

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
)

const envSteal = "TAPROOM_TEST_STEAL"

// StealPorts lets somebody be quicker: whenever the daemon has tried ports and starts a program that will listen on them,
// the next of these addresses is listened on already.
func StealPorts(addresses ...string) Option {
	return func(c *exec.Cmd) { c.Env = append(c.Env, envSteal+"="+strings.Join(addresses, ",")) }
}

// thief is the hook of StealPorts before another one.
func thief(then func(string)) func(string) {
	left := strings.Split(os.Getenv(envSteal), ",")
	var mu sync.Mutex
	var held []net.Listener // as long as the daemon lives
	tried := false
	return func(call string) {
		mu.Lock()
		switch {
		case call == "port probe":
			tried = true
		case tried && strings.HasPrefix(call, "process start") && len(left) > 0 && left[0] != "":
			if l, err := net.Listen("tcp", left[0]); err == nil {
				held, left, tried = append(held, l), left[1:], false
			}
		}
		mu.Unlock()
		then(call)
	}
}
