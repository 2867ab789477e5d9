package desktoptest

import (
	"image"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// busy is a disk whose boot sector writes a line on the screen and runs in a circle.
func (d *desk) busy(name string) {
	d.t.Helper()
	sector := make([]byte, 512)
	code := []byte{
		0xbe, 0x17, 0x7c, // mov si, 0x7c17
		0x31, 0xdb, // xor bx, bx
		0x8e, 0xdb, // mov ds, bx
		0xac,       // lodsb
		0x84, 0xc0, // test al, al
		0x74, 0x06, // jz to the circle
		0xb4, 0x0e, // mov ah, 0x0e
		0xcd, 0x10, // int 0x10
		0xeb, 0xf5, // jmp to lodsb
		0xeb, 0xfe, // the circle
	}
	copy(sector, code)
	copy(sector[0x17:], "A guest of taproom's desktop test, which runs in a circle.\x00")
	copy(sector[510:], "\x55\xaa")
	raw := d.write("sector", string(sector)+strings.Repeat("\x00", 1<<20-512))
	d.do("qemu-img", "convert", "-f", "raw", "-O", "qcow2", raw, filepath.Join(d.work, "images", name))
}

// virt-manager on a display of its own: what is seen of it is in the folder of the pictures.
func TestVirtManagerIsUsed(t *testing.T) {
	t.Parallel()
	d := sit(t)
	d.busy("web.qcow2")
	pictures := os.Getenv(envDesktop)
	if err := os.MkdirAll(pictures, 0o755); err != nil {
		t.Fatal(err)
	}
	display, err := filepath.Abs("testdata/display.sh")
	if err != nil {
		t.Fatal(err)
	}
	// A URI that names a transport is another host's to virt-manager, which then shows no console.
	uri := strings.Replace(d.daemon.URI(), "qemu+unix:", "qemu:", 1)
	out, code := d.run(display, "/usr/bin/python3", filepath.Join(filepath.Dir(display), "manager.py"), uri, filepath.Join(d.work, "images"), pictures)
	want, err := os.ReadFile("testdata/manager.golden")
	if err != nil {
		t.Fatal(err)
	}
	if steps := step.FindAllString(out, -1); code != 0 || strings.Join(steps, "\n")+"\n" != string(want) {
		t.Fatalf("exit %d: %s\nthe daemon said: %s", code, out, d.daemon.Said())
	}
	said, err := os.ReadFile(filepath.Join(pictures, "virt-manager.log"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(said)) {
		if trouble.MatchString(line) {
			t.Errorf("virt-manager said: %s", line)
		}
	}
	if n := colours(t, filepath.Join(pictures, "5-console.png")); n < 2 {
		t.Errorf("the console has %d colours", n)
	}
	d.end()
}

var (
	step    = regexp.MustCompile(`(?m)^\* .*$`)
	trouble = regexp.MustCompile(`Traceback|ERROR|not supported by the connection driver`)
)

// colours is how many there are in the middle of a picture, where the guest's screen is.
func colours(t *testing.T, path string) int {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	b := p.Bounds()
	middle := image.Rect(b.Dx()/8, b.Dy()/8, b.Dx()/2, b.Dy()/2)
	seen := map[[3]uint32]bool{}
	for y := middle.Min.Y; y < middle.Max.Y; y++ {
		for x := middle.Min.X; x < middle.Max.X; x++ {
			r, g, b, _ := p.At(x, y).RGBA()
			seen[[3]uint32{r, g, b}] = true
		}
	}
	return len(seen)
}
