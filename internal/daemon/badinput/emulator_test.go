package badinput

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"taproom/internal/api/virterr"
	"taproom/internal/host/hosttest"
	"taproom/internal/qemu/emutest"
)

// asked lets a double answer what it can do as QEMU does; only guests get to see what it is.
const asked = `case " $* " in *" -machine none"*) exec /usr/bin/qemu-system-x86_64 "$@";; esac
`

// monitor is the beginning of a double that listens where QEMU's monitor does.
const monitor = `#!/usr/bin/python3
import json, os, signal, socket, sys, time
if "none" in sys.argv:
    os.execv("/usr/bin/qemu-system-x86_64", sys.argv)
fd = next(int(w.split("fd=")[1].split(",")[0]) for w in sys.argv if w.startswith("socket,id=qmp"))
c, _ = socket.socket(fileno=fd).accept()
lines = c.makefile("r")
def say(o): c.sendall((json.dumps(o) + "\r\n").encode())
def tell(name): say({"event": name, "data": {"guest": True}, "timestamp": {"seconds": int(time.time()), "microseconds": 999999}})
def greet(): say({"QMP": {"version": {"qemu": {"major": 7, "minor": 2, "micro": 0}, "package": ""}, "capabilities": []}})
def commands():
    for line in lines:
        yield json.loads(line)
def answer(q): say({"return": [] if q["execute"].startswith("query-") else {}, "id": q.get("id")})
`

// double writes a program that is called like QEMU and is none, and returns its path.
func double(t *testing.T, name, text string) string {
	t.Helper()
	if !strings.HasPrefix(text, "#!") {
		text = "#!/bin/sh\n" + text
	}
	path := filepath.Join(doubles(), name)
	must(t, os.MkdirAll(doubles(), 0o755))
	have, err := os.ReadFile(path)
	if err == nil && string(have) == text {
		return path
	}
	if !errors.Is(err, fs.ErrNotExist) {
		must(t, err)
	}
	dir, err := os.MkdirTemp(doubles(), ".new-")
	must(t, err)
	made := filepath.Join(dir, name)
	must(t, errors.Join(hosttest.WriteProgram(made, []byte(text)), os.Rename(made, path), os.Remove(dir)))
	return path
}

func TestEmulatorsThatAreNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "qemu_ready_seconds = 4")
	on := func(emulator string) func() error {
		return func() error { return w.define(guestOn(emulator, "broken", "")) }
	}
	must(t, os.MkdirAll(doubles(), 0o755))
	w.put("plain", "no program")
	must(t, os.Mkdir(filepath.Join(w.Root, "private"), 0o755))
	must(t, hosttest.WriteProgram(filepath.Join(w.Root, "private/qemu"), []byte("#!/bin/sh\n")))
	must(t, os.Chmod(filepath.Join(w.Root, "private"), 0o700))
	w.refuse(t, []bad{
		{"missing", on("/nowhere/qemu"), virterr.ConfigUnsupported, "unsupported configuration: domain 'broken': QEMU cannot be executed: /nowhere/qemu: no such file or directory; install qemu-system-x86, or name another one in <emulator>"},
		{"relative", on("qemu-system-x86_64"), virterr.XMLError, "XML error: domain 'broken': invalid devices/emulator: \"qemu-system-x86_64\" is not an absolute path"},
		{"folder", on("/usr"), virterr.ConfigUnsupported, "unsupported configuration: domain 'broken': QEMU cannot be executed: /usr: it is no file; install qemu-system-x86, or name another one in <emulator>"},
		{"no program", on(filepath.Join(w.Root, "plain")), virterr.ConfigUnsupported, "unsupported configuration: domain 'broken': QEMU cannot be executed: ROOT/plain: it is not executable: chmod +x ROOT/plain; install qemu-system-x86, or name another one in <emulator>"},
		{"unreachable", on(filepath.Join(w.Root, "private/qemu")), virterr.ConfigUnsupported, "unsupported configuration: domain 'broken': QEMU cannot be executed: ROOT/private/qemu: QEMU's user UID may not enter ROOT/private: chmod o+x ROOT/private, or put the file elsewhere; install qemu-system-x86, or name another one in <emulator>"},
		{"not mine", on("/bin/true"), virterr.InternalError, "internal error: domain 'broken': an emulator does not say what it can do: QEMU ended before it was ready: /bin/true: exit status 0; it said nothing; install qemu-system-x86, or name another one in <emulator>"},
		{"dies", on(double(t, "dies-at-once", "echo 'libtoys.so.3: cannot open shared object file' >&2\nexit 127\n")), virterr.InternalError, "internal error: domain 'broken': an emulator does not say what it can do: QEMU ended before it was ready: DOUBLES/dies-at-once: exit status 127; it said: libtoys.so.3: cannot open shared object file; install qemu-system-x86, or name another one in <emulator>"},
		{"hangs", on(double(t, "hangs", "exec sleep 1000\n")), virterr.InternalError, "internal error: domain 'broken': an emulator does not say what it can do: QEMU did not become ready and was ended: DOUBLES/hangs: QEMU did not answer the connection with a greeting in time; it said nothing; install qemu-system-x86, or name another one in <emulator>"},
		{"interpreter", on(double(t, "no-interpreter", "#!/nowhere/sh\n")), virterr.ConfigUnsupported, "unsupported configuration: domain 'broken': QEMU cannot be executed: DOUBLES/no-interpreter: the interpreter that it names is missing; install qemu-system-x86, or name another one in <emulator>"},
	}...)
}

func TestEmulatorsThatDoNotStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "qemu_ready_seconds = 6")
	on := func(name, text string) func() error {
		e := double(t, name, text)
		return func() error { return w.start(guestOn(e, "broken", nic("quiet")+vnc)) }
	}
	w.refuse(t, []bad{
		{"dies", on("dies", asked+"echo 'cannot set up guest memory: no toys' >&2\nexit 7\n"), virterr.InternalError, "internal error: cannot start domain 'broken': QEMU ended before it was ready: DOUBLES/dies: exit status 7; it said: cannot set up guest memory: no toys; all it said is in ROOT/var/lib/taproom/log/broken.log"},
		{"says nothing", on("dies-silently", asked+"exit 0\n"), virterr.InternalError, "internal error: cannot start domain 'broken': QEMU ended before it was ready: DOUBLES/dies-silently: exit status 0; it said nothing"},
		{"hangs", on("hangs-before-monitor", asked+"echo 'still thinking' >&2\nexec sleep 1000\n"), virterr.OperationTimeout, "Timed out during operation: cannot start domain 'broken': QEMU did not become ready and was ended: DOUBLES/hangs-before-monitor: QEMU did not answer the connection with a greeting in time; it said: still thinking; where the host is that slow, raise qemu_ready_seconds in taproomd.toml"},
		{"greets", on("greets", monitor+"greet()\ntime.sleep(1000)\n"), virterr.OperationTimeout, "Timed out during operation: cannot start domain 'broken': QEMU did not become ready and was ended: DOUBLES/greets: QEMU did not answer qmp_capabilities in time; it said nothing; where the host is that slow, raise qemu_ready_seconds in taproomd.toml"},
		{"hangs up", on("hangs-up", monitor+"greet()\nc.shutdown(socket.SHUT_RDWR)\ntime.sleep(1000)\n"), virterr.InternalError, "internal error: cannot start domain 'broken': QEMU did not become ready and was ended: DOUBLES/hangs-up: QMP ROOT/run/taproom/guests/UUID/qmp.sock: QEMU closed the connection; it said nothing"},
		{"no greeting", on("no-greeting", monitor+"sys.stderr = open(os.devnull, 'w')\nfor _ in range(100): say({'return': {}})\ntime.sleep(1000)\n"), virterr.InternalError, "internal error: cannot start domain 'broken': QEMU did not become ready and was ended: DOUBLES/no-greeting: QMP ROOT/run/taproom/guests/UUID/qmp.sock: not a QMP message: want a greeting, got \"{\\\"return\\\": {}}\"; it said nothing"},
		{"junk", on("junk", monitor+"c.sendall(bytes(range(256)) * 64 + b'\\n')\ntime.sleep(1000)\n"), virterr.InternalError, "internal error: cannot start domain 'broken': QEMU did not become ready and was ended: DOUBLES/junk: QMP ROOT/run/taproom/guests/UUID/qmp.sock: not a QMP message: invalid character '\\x00' looking for beginning of value: \"\\x00\\x01\\x02\\x03\\x04\\x05\\x06\\a\\b\"; it said nothing"},
		{"endless line", on("endless-line", monitor+"greet()\nsys.stderr = open(os.devnull, 'w')\nwhile True: c.sendall(b'[' * 65536)\n"), virterr.InternalError, "internal error: cannot start domain 'broken': QEMU did not become ready and was ended: DOUBLES/endless-line: QMP ROOT/run/taproom/guests/UUID/qmp.sock: message is longer than allowed (8388608 bytes); it said nothing"},
		{"refuses", on("refuses", monitor+"greet()\nfor q in commands(): say({'error': {'class': 'GenericError', 'desc': 'not today'}, 'id': q.get('id')})\n"), virterr.InternalError, "internal error: cannot start domain 'broken': QEMU did not become ready and was ended: DOUBLES/refuses: QEMU refused qmp_capabilities: not today; it said nothing"},
		{"dies at cont", on("dies-at-cont", monitor+"greet()\nfor q in commands():\n    if q['execute'] == 'cont':\n        print('out of toys', file=sys.stderr, flush=True)\n        os._exit(3)\n    answer(q)\n"), virterr.InternalError, "internal error: cannot start domain 'broken': QEMU ended before it was ready: DOUBLES/dies-at-cont: exit status 3; it said: out of toys; all it said is in ROOT/var/lib/taproom/log/broken.log"},
		{"mute at cont", on("mute-at-cont", monitor+"greet()\nfor q in commands():\n    if q['execute'] != 'cont': answer(q)\n"), virterr.OperationTimeout, "Timed out during operation: cannot start domain 'broken': QEMU did not become ready and was ended: DOUBLES/mute-at-cont: QEMU did not answer cont in time; where the host is that slow, raise qemu_ready_seconds in taproomd.toml"},
	}...)
}

func TestAnEmulatorThatWentAwayAfterItWasDefined(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	emulator := filepath.Join(w.Root, "goes-away") // of this test alone, since it goes
	must(t, hosttest.WriteProgram(emulator, []byte("#!/bin/sh\n"+asked)))
	sum := sha256.Sum256([]byte(emulator))
	defer os.Remove(filepath.Join(os.TempDir(), "taproom-test-cache", "qemu-"+hex.EncodeToString(sum[:8])+".json"))
	d, err := w.c.DefineDomain(t.Context(), guestOn(emulator, "broken", ""))
	must(t, err)
	must(t, os.Remove(emulator))
	w.refuse(t, bad{"went away", func() error {
		_, err := w.c.StartDomain(t.Context(), d, 0)
		return err
	}, virterr.ConfigUnsupported, "unsupported configuration: cannot start domain 'broken': QEMU cannot be executed: ROOT/goes-away: no such file or directory; install qemu-system-x86, or name another one in <emulator>"})
	must(t, w.c.UndefineDomain(t.Context(), d, 0))
}

func TestAnEmulatorThatHangsCanBeDestroyed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.state()
	d, err := w.c.DefineDomain(t.Context(), guestOn(double(t, "hangs-before-monitor", asked+"echo 'still thinking' >&2\nexec sleep 1000\n"), "broken", nic("quiet")))
	must(t, err)
	failed := make(chan error, 1)
	begin := time.Now()
	go func() {
		_, err := w.c.StartDomain(t.Context(), d, 0)
		failed <- err
	}()
	other := w.Client()
	for { // until the start has begun, there is nothing to destroy
		if err := other.DestroyDomain(t.Context(), d); err != nil && virterr.CodeOf(err) != virterr.OperationInvalid {
			t.Errorf("destroy: %v", err)
		}
		select {
		case err := <-failed:
			w.answer(t, err, virterr.OperationAborted, "operation aborted: start of domain 'broken' was cut short to destroy domain 'broken'")
			if took := time.Since(begin); took > emutest.Patience() {
				t.Errorf("it took %v", took)
			}
			must(t, w.c.UndefineDomain(t.Context(), d, 0))
			w.unchanged(t, before)
			return
		default:
		}
	}
}
