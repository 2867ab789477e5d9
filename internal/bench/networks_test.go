package bench

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/spec"
)

func TestTheNetworksThatAreMeasuredAreDocumentsAndOverlapNowhere(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for i := range MostActive {
		n, err := spec.ParseNetwork([]byte(networkDocument(i)))
		if err == nil {
			err = n.Validate()
		}
		if err != nil {
			t.Fatalf("network %d: %v", i, err)
		}
		p := placeOf(i)
		for _, key := range []string{n.Name, p.bridge, p.four(0).String(), p.six(0).String()} {
			if seen[key] {
				t.Fatalf("network %d: %s twice", i, key)
			}
			seen[key] = true
		}
	}
}

func TestTheFirstAndTheLastNetworkAreAskedAndNoneTwice(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n, most int
		want    []int
	}{
		{1, 20, []int{0}}, {3, 20, []int{0, 1, 2}}, {20, 2, []int{0, 19}}, {1000, 4, []int{0, 333, 666, 999}}, {5, 4, []int{0, 1, 2, 4}},
	} {
		if d := cmp.Diff(c.want, scattered(c.n, c.most)); d != "" {
			t.Errorf("%d of %d (-want +got):\n%s", c.most, c.n, d)
		}
	}
}

func TestManyNetworksAreStartedFewerTimes(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{1: 20, 20: 20, 100: 4, 1000: 1, 2000: 1} {
		if got := roundsOf(20, n); got != want {
			t.Errorf("%d networks in %d rounds, want %d", n, got, want)
		}
	}
}

// The quantiles are those of the tables.
func TestTheIntervalIsStudents(t *testing.T) {
	t.Parallel()
	for freedom, want := range map[float64]float64{4: 2.776, 9: 2.262, 19: 2.093, 99: 1.984} {
		if got := student(freedom); math.Abs(got-want) > 0.01 {
			t.Errorf("with %v degrees of freedom: %v, want %v", freedom, got, want)
		}
	}
	low, high := interval([]float64{1, 2, 3, 4, 5}) // a mean of 3, a standard error of 0.7071
	if math.Abs(low-1.04) > 0.01 || math.Abs(high-4.96) > 0.01 {
		t.Errorf("from %v to %v, want from 1.04 to 4.96", low, high)
	}
	if d := cmp.Diff([]float64{50, 0, -100}, losses([]float64{2, 2, 2}, []float64{1, 2, 4})); d != "" {
		t.Errorf("losses (-want +got):\n%s", d)
	}
}

func TestProcessesThatExecuteAProgramAreCountedInTheirNamespaceAlone(t *testing.T) {
	t.Parallel()
	c := exec.Command("unshare", "--mount", "sh", "-c", "echo ready; read go; /bin/true; (/bin/true); exec env sh -c 'exec /bin/true'")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Error(err)
	}
	e, err := watchExecs(fmt.Sprintf("/proc/%d/root", c.Process.Pid))
	if err != nil {
		t.Error(err)
	}
	if _, err := io.WriteString(in, "go\n"); err != nil {
		t.Error(err)
	}
	if err := exec.Command("/bin/true").Run(); err != nil { // elsewhere
		t.Error(err)
	}
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
	if t.Failed() {
		return
	}
	for _, want := range []int{3, 0} { // the shell itself becomes three other programs, one after the other
		if n, err := e.count(); n != want || err != nil {
			t.Errorf("%d processes, %v; want %d", n, err, want)
		}
	}
	if err := e.close(); err != nil {
		t.Error(err)
	}
}
