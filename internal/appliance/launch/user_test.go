package launch

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
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

// A QEMU that its guest took over may do to its descriptors what it likes.
func TestAUserIsNotGivenAgainAsLongAsAProcessRunsAsIt(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("run as root, as `make test` does in a container: anybody else's appliances are of one user")
	}
	k, locks := host.New(host.Options{}), filepath.Join(t.TempDir(), "users")
	u, err := takeUser(k, locks)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command("cat")
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: u.id, Gid: u.id}}
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	u.close()
	if other, err := claim(k, locks, int64(u.id)-firstUser); !errors.Is(err, errTaken) {
		other.close()
		t.Errorf("user %d, whom a process runs as: %v", u.id, err)
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
	again, err := claim(k, locks, int64(u.id)-firstUser)
	if err != nil {
		t.Errorf("user %d, whom nobody runs as any more: %v", u.id, err)
	}
	again.close()
}
