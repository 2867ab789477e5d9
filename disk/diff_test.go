package disk_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/disk"
	"taproom/disk/disktest"
)

// twoTrees are images that differ in every part that is compared.
const twoTrees = `
mkdir -p one/dir one/gone/deep one/same; cd one
printf text >content; printf text >touched; printf text >mode; printf text >owner; printf text >xattr; printf text >larger; printf text >both
ln -s there target; ln -s there link; printf x >kind; printf x >"two
lines"; printf x >gone/deep/file; head -c 300000 /dev/zero >same/large; cp same/large end
find . -exec touch -h -d @1000000000.5 {} +
cd ..; cp -a one two; cd two
printf TEXT >content; touch -d @2000000000 touched; chmod 4755 mode; printf texts >larger; ln -sfn elsewhere target; rm kind; mkdir kind
rm -r gone; printf new >"dir/ new "; printf y | dd of=end bs=1 seek=299999 conv=notrunc status=none
find . -not -name touched -exec touch -h -d @1000000000.5 {} +
cd ..; image 32M; mkfs.ext4 -q -d one $I; image 48M other; mkfs.ext4 -q -b 1024 -d two other
debugfs -w -R 'set_inode_field /owner uid 7' other 2>/dev/null
debugfs -w -R 'ea_set /xattr user.note value' other 2>/dev/null
debugfs -w -R 'ea_set /both user.note value' other 2>/dev/null
debugfs -w -R 'ea_set /both user.note value' $I 2>/dev/null
`

func TestDiff_NamesEveryPartThatDiffers(t *testing.T) {
	t.Parallel()
	image := disktest.Make(t, twoTrees)
	a, b := opened(t, image, disk.Discard), opened(t, filepath.Join(filepath.Dir(image), "other"), disk.Discard)
	diff := func(o disk.DiffOptions, at string) (list []string, s disk.DiffSummary) {
		s, err := disk.Diff(t.Context(), a, at, b, at, o, func(d disk.Difference) error {
			list = append(list, fmt.Sprintf("%s %q %s", d.Kind, d.Path, strings.Join(d.Parts, ",")))
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		return list, s
	}
	want := []string{
		`changed "/content" content`, `added "/dir/ new " `, `changed "/end" content`, `removed "/gone" `, `removed "/gone/deep" `, `removed "/gone/deep/file" `,
		`changed "/kind" type`, `changed "/larger" size,content`, `changed "/mode" mode`, `changed "/owner" owner`, `changed "/target" target`,
		`changed "/touched" time`, `changed "/xattr" xattrs`,
	}
	got, s := diff(disk.DiffOptions{}, "/")
	got = dropped(got, `changed "/" `, `changed "/lost+found" `) // mkfs made these at two times
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if s.Added != 1 || s.Removed != 3 || s.Compared < 15 {
		t.Errorf("%+v", s)
	}
	got, _ = diff(disk.DiffOptions{IgnoreTimes: true}, "/")
	if strings.Contains(strings.Join(got, "\n"), "touched") {
		t.Errorf("times were compared: %q", got)
	}
	if got, s := diff(disk.DiffOptions{Quick: true}, "/same"); len(got) != 0 || s.Compared != 2 {
		t.Errorf("a folder that is the same: %q, %+v", got, s)
	}
	stop := errors.New("enough")
	if _, err := disk.Diff(t.Context(), a, "/", b, "/", disk.DiffOptions{}, func(disk.Difference) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("an error of the caller: %v", err)
	}
	if _, err := disk.Diff(t.Context(), a, "/none", b, "/", disk.DiffOptions{}, nil); err == nil || !strings.Contains(err.Error(), "/none") {
		t.Errorf("a folder that is not there: %v", err)
	}
}

// damaged are two images, of which the second has a folder and a file that cannot be read.
const damaged = `
mkdir -p t/broken/deep t/later; printf x >t/broken/deep/file; head -c 100000 /dev/zero | tr '\0' x >t/content; printf x >t/later/file
image 16M; mkfs.ext4 -q -b 1024 -O ^extents,^64bit -d t $I; cp image other
folder=$(debugfs -R 'blocks /broken' other 2>/dev/null); indirect=$(debugfs -R 'stat /content' other 2>/dev/null | sed -n 's/.*(IND):\([0-9]*\).*/\1/p')
[ -n "$indirect" ]
dd if=/dev/zero of=other bs=1024 seek=${folder%% *} count=1 conv=notrunc status=none
tr '\0' '\377' </dev/zero | dd of=other bs=1024 seek=$indirect count=1 iflag=fullblock conv=notrunc status=none
debugfs -w -R 'set_inode_field /later/file uid 7' other 2>/dev/null
`

// A damaged folder is no folder whose content was removed, and a damaged file ends nothing.
func TestDiff_LeavesOutWhatIsDamaged(t *testing.T) {
	t.Parallel()
	image := disktest.Make(t, damaged)
	a, b := opened(t, image, disk.Discard), opened(t, filepath.Join(filepath.Dir(image), "other"), disk.Discard)
	var got []string
	_, err := disk.Diff(t.Context(), a, "/", b, "/", disk.DiffOptions{}, func(d disk.Difference) error {
		got = append(got, fmt.Sprintf("%s %q %s", d.Kind, d.Path, strings.Join(d.Parts, ",")))
		return nil
	})
	if d := cmp.Diff([]string{`changed "/later/file" owner`}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	var side *disk.SideError
	var left *disk.PathError
	if !errors.As(err, &side) || side.Side != 1 || !errors.As(err, &left) || !strings.Contains(err.Error(), "/broken") || !strings.Contains(err.Error(), "/content") {
		t.Errorf("got %v", err)
	}
}

// An appliance that ends meanwhile is no tree without files.
func TestDiff_FailsWhereOneSideEnds(t *testing.T) {
	t.Parallel()
	image := disktest.Make(t, damaged)
	a, b := opened(t, image, disk.Discard), opened(t, filepath.Join(filepath.Dir(image), "other"), disk.Discard)
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := disk.Diff(t.Context(), a, "/", b, "/", disk.DiffOptions{}, func(d disk.Difference) error {
		t.Errorf("%+v", d)
		return nil
	})
	var side *disk.SideError
	if !errors.As(err, &side) || side.Side != 1 {
		t.Errorf("got %v", err)
	}
}

// dropped leaves out lines that begin so.
func dropped(list []string, prefixes ...string) (out []string) {
	for _, line := range list {
		keep := true
		for _, p := range prefixes {
			keep = keep && !strings.HasPrefix(line, p)
		}
		if keep {
			out = append(out, line)
		}
	}
	return out
}
