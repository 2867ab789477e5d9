package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taproom/internal/spec"
)

// The logs of a domain and of the programs beside its QEMU get its new name; those of domains with names like its own stay.
func TestLogsFollowADomainThatIsRenamed(t *testing.T) {
	t.Parallel()
	e := small(t)
	if err := os.MkdirAll(e.paths.Logs(), 0o755); err != nil {
		t.Fatal(err)
	}
	web, other := newDomain(spec.NewUUID(), "web", nil), newDomain(spec.NewUUID(), "web-fs0-virtiofsd", nil)
	e.domains.add(web)
	e.domains.add(other)
	for _, name := range strings.Fields("web.log web.log.1 web-tpm0-swtpm.log web-tpm0-swtpm.log.1 web-ua-up-link-passt.log web-fs0-virtiofsd.log web-2.log web-net0.log webtpm0-swtpm.log") {
		if err := os.WriteFile(filepath.Join(e.paths.Logs(), name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e.renameLogs(web, newDomain(web.uuid, "shop", nil))
	entries, err := os.ReadDir(e.paths.Logs())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	const want = "shop-tpm0-swtpm.log shop-tpm0-swtpm.log.1 shop-ua-up-link-passt.log shop.log shop.log.1 web-2.log web-fs0-virtiofsd.log web-net0.log webtpm0-swtpm.log"
	if s := strings.Join(got, " "); s != want {
		t.Errorf("there are\n%s, want\n%s", s, want)
	}
}
