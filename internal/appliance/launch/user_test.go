package launch

import (
	"os"
	"path/filepath"
	"testing"

	"taproom/internal/host"
)

func TestNoTwoAppliancesOfRootHaveOneUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("run as root, as `make test` does in a container: anybody else's appliances are of one user")
	}
	k, locks := host.New(host.Options{}), filepath.Join(t.TempDir(), "run/users")
	seen := map[uint32]bool{}
	for range 300 {
		u, err := takeUser(k, locks)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(u.close)
		if seen[u.id] || u.id < firstUser || u.id >= firstUser+userCount || u.group() != u.id {
			t.Fatalf("user %d of group %d, after %d others", u.id, u.group(), len(seen))
		}
		seen[u.id] = true
	}
}
