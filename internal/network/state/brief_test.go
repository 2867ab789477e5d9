package state

import (
	"errors"
	"fmt"
	"testing"
)

// An error names the first elements and says how many there were, whatever their number.
func TestAnErrorOfManyElementsIsShort(t *testing.T) {
	t.Parallel()
	var some []Element
	for i := range 512 {
		some = append(some, Element{Set: "targets", Key: fmt.Sprint("virbr0 . ", i)})
	}
	for _, c := range []struct {
		add, del []Element
		want     string
	}{
		{some, some[:2], "firewall: add targets virbr0 . 0, add targets virbr0 . 1, add targets virbr0 . 2, and 511 elements more: it is full"},
		{some[:1], some[1:], "firewall: add targets virbr0 . 0, delete targets virbr0 . 1, delete targets virbr0 . 2, and 509 elements more: it is full"},
		{nil, some[:3], "firewall: delete targets virbr0 . 0, delete targets virbr0 . 1, delete targets virbr0 . 2: it is full"},
	} {
		err := &StepError{Step: ChangeElements{Add: c.add, Del: c.del}, Err: errors.New("it is full")}
		if got := err.Error(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}
