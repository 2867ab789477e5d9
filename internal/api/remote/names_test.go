package remote

import "testing"

func TestTheTableNamesProceduresAsLibvirtDoes(t *testing.T) {
	t.Parallel()
	for _, p := range Procedures() {
		if got := ProcedureName(p.Number); got != p.Name {
			t.Errorf("procedure %d is %q, the table says %q", p.Number, got, p.Name)
		}
	}
}

func TestAProcedureThatIsNotServedHasANameToo(t *testing.T) {
	t.Parallel()
	for number, want := range map[uint32]string{0: "", 211: "DOMAIN_SCREENSHOT", 453: "DOMAIN_EVENT_NIC_MAC_CHANGE", 454: "", 1 << 31: ""} {
		if got := ProcedureName(number); got != want {
			t.Errorf("procedure %d is %q, want %q", number, got, want)
		}
	}
}
