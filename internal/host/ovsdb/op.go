package ovsdb

import (
	"encoding/json"
	"time"
)

// Op is one operation of a transaction (RFC 7047, 5.2). Its fields are those of the message.
type Op struct {
	Op        string         `json:"op"`
	Table     string         `json:"table,omitempty"`
	Where     *[]Condition   `json:"where,omitempty"`
	Columns   []string       `json:"columns,omitempty"`
	Row       map[string]any `json:"row,omitempty"`
	Rows      *[]any         `json:"rows,omitempty"`
	Mutations []Mutation     `json:"mutations,omitempty"`
	Until     string         `json:"until,omitempty"`
	Timeout   *int64         `json:"timeout,omitempty"` // milliseconds
	Comment   string         `json:"comment,omitempty"`
	Name      Named          `json:"-"` // of the row that is inserted, for the rest of the transaction
}

// MarshalJSON implements json.Marshaler.
func (o Op) MarshalJSON() ([]byte, error) {
	type plain Op
	return json.Marshal(struct {
		plain
		Name string `json:"uuid-name,omitempty"`
	}{plain(o), string(o.Name)})
}

// Condition is a column, a function such as "==" or "includes", and a value.
type Condition [3]any

// Is is the condition that a column has a value.
func Is(column string, value any) Condition { return Condition{column, "==", value} }

// Includes is the condition that a column has these members beside others.
func Includes(column string, value any) Condition { return Condition{column, "includes", value} }

// Mutation changes a column: its name, a mutator such as "insert" or "+=", and a value.
type Mutation [3]any

// Select reads columns of the rows that meet all conditions.
func Select(table string, columns []string, where ...Condition) Op {
	return Op{Op: "select", Table: table, Where: conditions(where), Columns: columns}
}

// Insert makes a row. name is for the rest of the transaction.
func Insert(table string, name Named, row map[string]any) Op {
	return Op{Op: "insert", Table: table, Name: name, Row: row}
}

// Update sets columns of the rows that meet all conditions.
func Update(table string, row map[string]any, where ...Condition) Op {
	return Op{Op: "update", Table: table, Where: conditions(where), Row: row}
}

// Mutate changes columns of the rows that meet all conditions.
func Mutate(table string, m []Mutation, where ...Condition) Op {
	return Op{Op: "mutate", Table: table, Where: conditions(where), Mutations: m}
}

// Wait waits until a row of the table meets all conditions, at most for a time; the transaction goes on then, or fails as
// IsTimeout tells. Without a time it has to be so now. The column is one that the table has.
func Wait(table, column string, within time.Duration, where ...Condition) Op {
	ms := within.Milliseconds()
	return Op{Op: "wait", Table: table, Where: conditions(where), Columns: []string{column}, Rows: &[]any{}, Until: "!=", Timeout: &ms}
}

// Comment is written to the database's log beside the transaction, where `ovsdb-tool show-log` shows it.
func Comment(text string) Op { return Op{Op: "comment", Comment: text} }

func conditions(where []Condition) *[]Condition {
	if where == nil {
		where = []Condition{}
	}
	return &where
}
