// Package disktest makes disk images for tests, by the distribution's own tools and without root's devices: file systems are made in files, and
// partitions are put together from such files.
package disktest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// prelude are the functions that scripts may use.
//
//	image SIZE [NAME]        an empty image of a size as truncate(1) takes it
//	part N FILE [NAME]       puts a file into the partition N of an image, where sfdisk has made one
//	tree DIR                 a folder with a few files of every kind that needs no root
const prelude = `
PATH=$PATH:/usr/sbin:/sbin
export LC_ALL=C.UTF-8
image() { truncate -s "$1" "${2:-$I}"; }
part() {
  start=$(sfdisk --dump "${3:-$I}" | sed -n 's/^.*[^0-9]'"$1"' *: *start= *\([0-9]*\),.*/\1/p')
  [ -n "$start" ] || { echo "no partition $1" >&2; exit 1; }
  dd if="$2" of="${3:-$I}" bs=512 seek="$start" conv=notrunc,sparse status=none
}
tree() {
  mkdir -p "$1/etc" "$1/folder/in"
  echo hello >"$1/etc/motd"
  printf 'of the image' >"$1/etc/passwd"
  ln -s ../etc/motd "$1/folder/link"
  echo deep >"$1/folder/in/file"
}
`

// Make runs a script of a shell that makes images, in an empty folder: $I is the path of the first image there, $D the folder.
func Make(t testing.TB, script string) (image string) {
	t.Helper()
	dir := t.TempDir()
	image = filepath.Join(dir, "image")
	Script(t, dir, script, "I="+image, "D="+dir)
	return image
}

// Script runs a script of a shell in a folder, with the functions that Make gives to scripts.
func Script(t testing.TB, dir, script string, env ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "bash", "-euc", prelude+script)
	c.Dir = dir
	c.Env = append(os.Environ(), env...)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s\n%v\n%s", script, err, out)
	}
}
