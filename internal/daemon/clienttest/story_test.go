package clienttest

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the stories from what the clients print now")

// A story is one file: a transcript, and the documents it uses. Lines of the transcript that begin with one of these are
// done; what follows is what they print.
const (
	promptRW     = "$ "  // virsh
	promptRO     = "r$ " // virsh -r
	promptDaemon = "% "  // restart, kill, reboot: what happens to the daemon; outside: what others do to a pool
)

// tell runs the transcript of a story and compares it.
func (c *clients) tell(name string) {
	c.t.Helper()
	path := filepath.Join("testdata", name)
	story, err := txtar.ParseFile(path)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, f := range story.Files {
		c.write(f.Name, c.fill(string(f.Data)))
	}
	want := string(story.Comment)
	var got bytes.Buffer
	for line := range strings.Lines(want) {
		if strings.HasPrefix(line, "#") {
			got.WriteString(line)
		}
		for _, prompt := range []string{promptRW, promptRO, promptDaemon} {
			if command, ok := strings.CutPrefix(line, prompt); ok {
				got.WriteString(line)
				got.WriteString(c.step(prompt, strings.Fields(c.fill(command))))
			}
		}
	}
	if story.Comment = got.Bytes(); name == hostStory {
		story.Comment = []byte(ofAnyHost(got.String()))
	}
	c.golden(name, string(txtar.Format(story)))
}

// golden compares what was seen with a file.
func (c *clients) golden(name, got string) {
	c.t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			c.t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		c.t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		c.t.Errorf("%s is different (-want +got):\n%s\nthe daemon said: %s", name, d, c.daemon.Said())
	}
}

func (c *clients) step(prompt string, args []string) string {
	c.t.Helper()
	switch prompt {
	case promptDaemon:
		if args[0] == "outside" {
			c.outside()
		} else {
			c.restart(args[0])
		}
		return ""
	case promptRO:
		args = append([]string{"-r"}, args...)
	}
	out, code := c.run(c.virsh(args...))
	if strings.HasPrefix(out, "error: metadata not found: Requested metadata element is not present\n") { // to virsh 11 that is no error
		out, code = "", 0
	}
	if out = strings.TrimRight(out, "\n"); out != "" { // how many there are depends on virsh's version
		out += "\n"
	}
	return fmt.Sprintf("%s[exit %d]\n", c.normal(out), code)
}

// restart ends the daemon and starts it again: by asking it (restart), by SIGKILL (kill), or as after a boot of the host,
// which leaves nothing below /run (reboot; the guests are the test's to stop before).
func (c *clients) restart(how string) {
	c.t.Helper()
	if how == "kill" {
		c.daemon.Kill()
	} else if err := c.daemon.Stop(); err != nil {
		c.t.Fatal(err)
	}
	if how == "reboot" {
		if err := os.RemoveAll(filepath.Join(c.daemon.Root, "run")); err != nil {
			c.t.Fatal(err)
		}
	}
	if err := c.daemon.Start(); err != nil {
		c.t.Fatal(err)
	}
}

// fill puts what differs from run to run into a document.
func (c *clients) fill(doc string) string {
	return strings.ReplaceAll(doc, "ROOT", c.daemon.Root)
}

// varies is what no two runs have in common, and what is shown instead.
var varies = []struct {
	what *regexp.Regexp
	show string
}{
	{regexp.MustCompile(`\bpc-(i440fx|q35)-\d+\.\d+\b`), "pc-$1-<version>"},
	{regexp.MustCompile(`"singlestep":false,`), ""},            // of QEMUs before 9
	{regexp.MustCompile(`(?m)^Autostart Once: disable\n`), ""}, // virsh 11 shows that
	{regexp.MustCompile(`loading state section id \d+`), "loading state section id <n>"},
	{regexp.MustCompile(`CPU time: +[\d.]+s`), "CPU time:       <seconds>"},
	{regexp.MustCompile(`(State: +running\n)CPU time: .*\n(CPU Aff)`), "$1$2"}, // shown once there is some
	{regexp.MustCompile(`(?m)^CPU: +\d+$`), "CPU:            <n>"},
	{regexp.MustCompile(`CPU Affinity: +[y-]+`), "CPU Affinity:   <cpus>"},
	{regexp.MustCompile(`(\bcpu\.\w+|\bvcpu\.\d+\.time)=\d+`), "$1=<n>"},
	// A bridge has something to say to a guest that stands still, sometimes.
	{regexp.MustCompile(`(?m)(^vnet\d+ rx_(?:bytes|packets) |net\.\d+\.rx\.(?:bytes|pkts)=)\d+`), "$1<n>"},
	// Whether something was counted is the same each time, how much is not.
	{regexp.MustCompile(`(\bballoon\.[\w-]+|\.(?:bytes|pkts|reqs|times|time))=[1-9]\d*`), "$1=<n>"},
	{regexp.MustCompile(`(?m)^((?:\w+ (?:rd|wr|rx|tx|flush)_\w+|rss|minor_fault|unused|available|usable|disk_caches|last_update)) [1-9]\d*$`), "$1 <n>"},
	{regexp.MustCompile(`(Autostart: .*\n)Capacity: .*\nAllocation: .*\nAvailable: .*`), "$1<sizes of the machine's filesystem>"},
	// What a file takes is its filesystem's business.
	{regexp.MustCompile(`(Allocation: +)\d+\.\d+ \w+`), "$1<n>"},
	{regexp.MustCompile(`(<allocation unit='bytes'>)\d+`), "$1<n>"},
	{regexp.MustCompile(`<([acm]time)>\d+\.\d{9}<`), "<$1>…<"},
	{regexp.MustCompile(`/dev/pts/\d+`), "/dev/pts/<n>"},
	{regexp.MustCompile(`\+\d{6,}:\+\d{6,}`), "+<uid>:+<gid>"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?([+-]\d{4})?`), "<date>"},
}

// hostVaries is what no two hosts have in common.
var hostVaries = []struct {
	what *regexp.Regexp
	show string
}{
	{regexp.MustCompile(`(?m)^(CPU\(s\)|CPU frequency|CPU socket\(s\)|Core\(s\) per socket|Thread\(s\) per core|NUMA cell\(s\)|Memory size): +[1-9].*$`), "$1: <n>"},
	{regexp.MustCompile(`(?m)^(total  |free   |buffers|cached |user|system|idle|iowait|Total):\s+\d+`), "$1: <n>"},
	{regexp.MustCompile(`<(vendor|memory unit='KiB')>[^<]+<`), "<$1>…<"},
	{regexp.MustCompile(`<topology .*/>`), "<topology …/>"},
	{regexp.MustCompile(`(?m)^ *<domain type='kvm'/>\n`), ""},
	// The images of firmware are those that are installed.
	{regexp.MustCompile(`(?m)^ *<value>/.*\.fd</value>\n`), ""},
	{regexp.MustCompile(`<cpus num='\d+'>`), "<cpus num='…'>"},
	{regexp.MustCompile(`(libvirt|API: QEMU|hypervisor: QEMU) \d+\.\d+\.\d+`), "$1 <version>"},
	// Long lists are shown by their first entry.
	{regexp.MustCompile(`(?m)^( *<(?:feature name|feature policy|model usable|machine|cpu id)[ =]).*(?:\n *<(?:feature name|feature policy|model usable|machine|cpu id)[ =].*)*$`), "$1…"},
	{regexp.MustCompile(`(?m)^486\n(?:[\w-]+\n)+`), "486\n…\n"},
}

// hostStory is the one that tells of the host.
const hostStory = "host.story"

func ofAnyHost(s string) string {
	if host, err := os.Hostname(); err == nil {
		s = regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(host)+`$`).ReplaceAllString(s, "<hostname>")
	}
	for _, v := range hostVaries {
		s = v.what.ReplaceAllString(s, v.show)
	}
	return s
}

// uuids are shown when a document of the story gave them: 00000000-….
var uuids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// normal replaces what differs from run to run.
func (c *clients) normal(s string) string {
	s = strings.ReplaceAll(s, c.daemon.Root, "ROOT")
	if u := c.daemon.User(); u != nil {
		s = strings.ReplaceAll(s, strconv.Itoa(int(u.ID)), "<uid>")
	}
	if dir := os.Getenv(envQEMU); dir != "" {
		s = strings.ReplaceAll(s, emulatorIn(dir), emulator)
	}
	for _, v := range varies {
		s = v.what.ReplaceAllString(s, v.show)
	}
	return uuids.ReplaceAllStringFunc(s, func(u string) string {
		if strings.HasPrefix(u, "00000000-") {
			return u
		}
		return "<uuid>"
	})
}

// Every story has a daemon of its own.
func TestVirshTellsTheseStories(t *testing.T) {
	t.Parallel()
	stories, err := filepath.Glob("testdata/*.story")
	if err != nil || len(stories) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, path := range stories {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			serve(t).tell(filepath.Base(path))
		})
	}
}
