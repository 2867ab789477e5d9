package nwfilter

import (
	"fmt"
	"strings"
)

// RuleError says which attribute of which rule is wrong. Path leads to the filter from the one that was compiled.
type RuleError struct {
	Path      []string
	Rule      int    // from 1, in the order of the document
	Attribute string // such as "tcp/@dstportend"; empty where the rule as a whole is meant
	Reason    string
}

// Error implements error.
func (e *RuleError) Error() string {
	where := "filter " + path(e.Path) + ", rule " + fmt.Sprint(e.Rule)
	if e.Attribute != "" {
		where += ", " + e.Attribute
	}
	return where + ": " + e.Reason
}

// MissingError says that a filter refers to one that is not defined. The last of Path is the missing one.
type MissingError struct{ Path []string }

// Error implements error.
func (e *MissingError) Error() string {
	missing := e.Path[len(e.Path)-1]
	if len(e.Path) == 1 {
		return fmt.Sprintf("filter %s is not defined; define it, or name another one in <filterref>", missing)
	}
	return fmt.Sprintf("filter %s is not defined, and %s refers to it; define it, or take the reference out", missing, path(e.Path))
}

// LoopError says that a filter refers to itself. The last of Path stands in it before.
type LoopError struct{ Path []string }

// Error implements error.
func (e *LoopError) Error() string {
	return fmt.Sprintf("filter %s refers to itself: %s; take one of the references out", e.Path[len(e.Path)-1], path(e.Path))
}

// VariableError says that rules use variables that nobody gave a value. Names are sorted; Where is the first rule.
type VariableError struct {
	Names []string
	Where RuleError
}

// Error implements error.
func (e *VariableError) Error() string {
	which := "variable " + e.Names[0] + " has no value"
	if len(e.Names) > 1 {
		which = "variables " + strings.Join(e.Names, ", ") + " have no value"
	}
	return fmt.Sprintf("%s (filter %s, rule %d, %s); add <parameter name='%s' value='…'/> to the <filterref> of the interface",
		which, path(e.Where.Path), e.Where.Rule, e.Where.Attribute, e.Names[0])
}

// SizeError says that a filter becomes too large.
type SizeError struct {
	Root string
	What string
	Most int
}

// Error implements error.
func (e *SizeError) Error() string {
	return fmt.Sprintf("filter %s has more than %d %s; divide it, or use ranges, masks or fewer lists in one rule", e.Root, e.Most, e.What)
}

func path(names []string) string { return strings.Join(names, " → ") }
