package suite

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"taproom/internal/bench"
)

// Part is one process of the suite: a benchmark with sizes.
type Part struct {
	Name   string
	Member string // of bench.Members
	Quick  size
	Full   size
}

// size is how much of a part is measured.
type size struct {
	args []string
	// takes is what it took on 2 cores without KVM; the time left is estimated by it and by how much faster or slower the
	// parts before were.
	takes time.Duration
}

func sized(takes time.Duration, args string) size { return size{strings.Fields(args), takes} }

// Parts are all, in the order of a run: what is quick and most asked for comes first.
func Parts() []Part {
	const s, m = time.Second, time.Minute
	return []Part{
		{"start", "start", sized(8*s, "--rounds 20"), sized(15*s, "--rounds 50")},
		{"api", "api", sized(25*s, "--rounds 10 --domains 100"), sized(90*s, "")},
		{"names", "names", sized(15*s, "--rounds 5 --links 1,8,82"), sized(6*m, "")},
		{"many", "many", sized(40*s, "--rounds 5 --nics 20 --guests 8"), sized(3*m, "")},
		{"many-macvtap", "many", sized(40*s, "--rounds 5 --nics 20 --guests 8 --kind macvtap"), sized(3*m, "--kind macvtap")},
		{"readopt", "readopt", sized(20*s, "--rounds 5 --guests 5"), sized(2*m, "--guests 25")},
		{"addresses", "addresses", sized(40*s, "--rounds 5 --networks 50"), sized(4*m, "")},
		{"networks", "networks", sized(100*s, "--rounds 3 --active 1,5,20"), sized(20*m, "")},
		{"networks-stream", "networks", sized(40*s, "--rounds 5 --active 1,20 --stream --backend nft"), sized(8*m, "--stream --backend nft")},
		{"filter", "filter", sized(10*s, "--rounds 20 --filtered 1,40,100"), sized(5*m, "")},
		{"shape", "shape", sized(3*m, "--rate 1024,8192,65536 --seconds 1 --through tap"), sized(50*m, "")},
		{"boot", "boot", sized(70*s, "--rounds 10"), sized(2*m, "")},
		{"uml", "uml", sized(60*s, "--rounds 2"), sized(4*m, "--rounds 5")},
		{"copy", "copy", sized(30*s, "--rounds 3 --size 100"), sized(60*s, "--rounds 5")},
		{"parallel", "parallel", sized(40*s, "--appliances 5,10,20 --images 0"), sized(6*m, "--appliances 10,20,50,100,200,500,1000 --images 0")},
		{"inspect", "inspect", sized(60*s, "--images 24 --workers 8"), sized(2*m, "")},
	}
}

// size is that of a run.
func (p Part) size(quick bool) size {
	if quick {
		return p.Quick
	}
	return p.Full
}

// about is what the part measures, in the words of its benchmark.
func (p Part) about() string {
	members := bench.Members()
	if i := slices.IndexFunc(members, func(m bench.Member) bool { return m.Name == p.Member }); i >= 0 {
		return members[i].About
	}
	return ""
}

// TurnParts are the parts that two builds are measured in by turns. Each has so many repetitions that a difference of 10 % can
// be proven beside all the others'.
func TurnParts() []Part {
	const s = time.Second
	return []Part{
		{"start", "start", sized(10*s, "--rounds 20"), sized(25*s, "--rounds 50")},
		{"api", "api", sized(40*s, "--rounds 20 --domains 20"), sized(180*s, "--rounds 30")},
		{"many", "many", sized(60*s, "--rounds 20 --nics 8 --guests 4"), sized(360*s, "--rounds 20")},
		{"readopt", "readopt", sized(60*s, "--rounds 20 --guests 2"), sized(240*s, "--guests 25")},
		{"addresses", "addresses", sized(90*s, "--rounds 20 --networks 10"), sized(480*s, "")},
		{"networks", "networks", sized(60*s, "--rounds 20 --active 5 --backend nft"), sized(240*s, "--active 1,20 --backend nft")},
	}
}

// choose returns the parts of those names, in the order of a run; all where none is named. A name that there is not is an
// error that says which there are.
func choose(all []Part, only []string) ([]Part, error) {
	if len(only) == 0 {
		return all, nil
	}
	names := PartNames(all)
	for _, name := range only {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("there is no part %q; there are %s", name, strings.Join(names, ", "))
		}
	}
	return slices.DeleteFunc(all, func(p Part) bool { return !slices.Contains(only, p.Name) }), nil
}

// PartNames are those of all parts.
func PartNames(all []Part) []string {
	var names []string
	for _, p := range all {
		names = append(names, p.Name)
	}
	return names
}
