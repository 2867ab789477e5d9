package agent

import (
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAgentIsLinkedFromTheStandardLibraryAndSysAlone(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "taproom/cmd/taproom-agent").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range strings.Fields(string(out)) {
		switch {
		case path == "golang.org/x/sys/unix", path == "taproom/cmd/taproom-agent":
		case strings.HasPrefix(path, "taproom/internal/appliance/"), path == "taproom/internal/version":
		default:
			t.Errorf("the agent imports %s", path)
		}
	}
}
