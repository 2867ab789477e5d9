package agent

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
)

// maxLine bounds what is typed on the console without a newline.
const maxLine = 4096

// console is the guest's serial console: progress goes out, and whoever looks at it can type.
type console struct {
	mu sync.Mutex
	rw io.ReadWriter // nil when there is none
}

func openConsole() *console {
	f, err := os.OpenFile("/dev/console", os.O_RDWR, 0)
	if err != nil {
		return &console{}
	}
	return &console{rw: f}
}

func (c *console) printf(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rw != nil {
		_, _ = fmt.Fprintf(c.rw, "taproom: "+format+"\n", args...)
	}
}

func (c *console) write(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = io.WriteString(c.rw, text)
}

// operator is what a person at the console can ask.
type operator interface {
	describe() string
	off(why string)
	restart(why string)
}

// serve answers lines until the console ends.
func (c *console) serve(o operator) {
	if c.rw == nil {
		return
	}
	lines := bufio.NewScanner(c.rw)
	lines.Buffer(make([]byte, 0, 256), maxLine)
	c.write("Type help.\n# ")
	for lines.Scan() {
		c.write(answer(o, strings.TrimSpace(lines.Text())) + "# ")
	}
}

const consoleHelp = `ip        show the network
poweroff  power the guest off
reboot    restart the guest
help      show this
Anything else is repeated.
`

// answer returns what a line typed at the console is answered with.
func answer(o operator, line string) string {
	switch line {
	case "":
		return ""
	case "help", "?":
		return consoleHelp
	case "ip":
		return o.describe()
	case "poweroff":
		o.off("asked at the console")
		return ""
	case "reboot":
		o.restart("asked at the console")
		return ""
	}
	return "you typed: " + line + "\n"
}

func (a *Agent) describe() string {
	var b strings.Builder
	n := a.network()
	for _, nic := range n.NICs {
		fmt.Fprintf(&b, "%s %s %s\n", nic.Name, nic.MAC, strings.Join(nic.Addresses, " "))
	}
	for _, r := range n.Routes {
		via := ""
		if r.Gateway != "" {
			via = " via " + r.Gateway
		}
		fmt.Fprintf(&b, "route %s%s dev %s\n", r.Destination, via, r.Link)
	}
	return b.String()
}

func (a *Agent) off(why string)     { a.power.off(why) }
func (a *Agent) restart(why string) { a.power.restart(why) }
