package nft

import (
	"errors"
	"fmt"
	"strings"
)

type verb uint8

const (
	verbAdd verb = iota
	verbCreate
	verbInsert
	verbDelete
	verbFlush
)

func (v verb) String() string {
	return [...]string{"add", "create", "insert", "delete", "flush"}[v]
}

type operation struct {
	verb   verb
	object Object
}

// command is the operation as `nft` takes it.
func (o operation) command() string {
	words := o.verb.String() + " " + o.object.words()
	switch o.verb {
	case verbFlush:
		return words
	case verbDelete:
		switch x := o.object.(type) {
		case Rule:
			return fmt.Sprintf("%s handle %d", words, x.Handle)
		case Elements:
			return words + " " + x.body()
		}
		return words
	}
	if b := o.object.body(); b != "" {
		words += " " + b
	}
	return words
}

// Transaction is a list of changes that the kernel makes together or not at all. The zero value is empty and ready.
//
// The first invalid object sticks: what follows is ignored, Err and every Commit return that error. So callers write
// straight lines and check once.
type Transaction struct {
	ops    []operation
	err    error
	gen    uint32
	hasGen bool
}

// Add makes the object exist. A table, chain, set or element that already exists is left as it is (a base chain's policy
// is updated); a rule is appended each time.
func (t *Transaction) Add(o Object) { t.do(verbAdd, o) }

// Create is Add for a table, chain, set or elements that must not exist yet (EEXIST).
func (t *Transaction) Create(o Object) { t.do(verbCreate, o) }

// Insert puts a rule before all others of its chain.
func (t *Transaction) Insert(r Rule) { t.do(verbInsert, r) }

// Delete removes the object, which must exist (ENOENT) and not be in use (EBUSY). A rule goes by its handle, a table
// with all it holds, a chain with its rules.
func (t *Transaction) Delete(o Object) { t.do(verbDelete, o) }

// Flush empties a chain of its rules, a set of its elements, or all chains of a table of their rules.
func (t *Transaction) Flush(o Object) { t.do(verbFlush, o) }

// IfGeneration makes the whole transaction fail with ErrChanged when anybody has changed any table of the network
// namespace since the dump that returned gen.
func (t *Transaction) IfGeneration(gen uint32) { t.gen, t.hasGen = gen, true }

// Err is the first invalid object's error.
func (t *Transaction) Err() error { return t.err }

// Len is the number of changes.
func (t *Transaction) Len() int { return len(t.ops) }

// Append adds all changes of another transaction, and its error.
func (t *Transaction) Append(o *Transaction) {
	if t.err != nil {
		return
	}
	t.ops = append(t.ops, o.ops...)
	t.err = o.err
}

// String is the transaction as input for `nft -f`, one command a line.
func (t *Transaction) String() string {
	var b strings.Builder
	for _, o := range t.ops {
		b.WriteString(o.command())
		b.WriteByte('\n')
	}
	return b.String()
}

func (t *Transaction) do(v verb, o Object) {
	if t.err != nil {
		return
	}
	op := operation{v, o}
	if o == nil {
		t.err = fmt.Errorf("nft %s: no object", v)
		return
	}
	if err := op.check(); err != nil {
		t.err = &Error{Command: shorten(op.command()), Object: o, Err: errors.Join(ErrInvalid, err)}
		return
	}
	t.ops = append(t.ops, op)
}

func (o operation) check() error {
	switch x := o.object.(type) {
	case Rule:
		switch o.verb {
		case verbDelete:
			if x.Handle == 0 {
				return errors.New("a rule is deleted by its handle, which this one has not: dump first")
			}
			return errors.Join(checkFamily(x.Family), checkNames(x.Table, x.Chain))
		case verbCreate, verbFlush:
			return errors.New("rules are added, inserted and deleted only")
		}
	case Elements:
		if o.verb == verbFlush {
			return errors.New("flush the set")
		}
	}
	return o.object.validate()
}
