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
