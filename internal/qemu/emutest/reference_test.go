package emutest

import "testing"

func TestReferenceGuest_Boots(t *testing.T) {
	t.Parallel()
	defer Boot(t)()
	took, err := bootReference(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the reference guest boots in %v", took)
}
