// Package builtin computes functions of Spark SQL that DuckDB lacks or gives another meaning: columns in, one column out. The
// goldens of eval/dialect say what they give; eval/dialect checks the types of a call, and eval hands over the rows.
//
// A function is used by one goroutine at a time and keeps what it needs between calls. It is pure: the same rows give the same
// column, whatever stands beside them (D-22). It does not know SQL, DuckDB or cgo.
package builtin

import (
	"time"

	"sluice/batch"
	"sluice/fault"
)

// Spec says which function is meant.
type Spec struct {
	Name    string
	Args    []batch.Type
	Result  batch.Type
	Options map[string]string // constants of the call
	Zone    *time.Location    // of the session
}

// Function appends the value of each row to out. Args are parallel to the spec's and of one length. The first row that fails
// is an error of the code that Spark gives it; out has the rows before it.
type Function func(args []batch.Column, rows int, out *batch.Builder) *fault.Error

// makers make the functions by name.
var makers = map[string]func(*Spec) (Function, error){}

func register(families ...map[string]func(*Spec) (Function, error)) {
	for _, family := range families {
		for name, maker := range family {
			makers[name] = maker
		}
	}
}

func init() { register(texts, patterns, hashes, numbers, times, arrays, maps, casts) }

// New makes a function.
func New(s Spec) (Function, error) {
	if maker := makers[s.Name]; maker != nil {
		return maker(&s)
	}
	return nil, fault.New(fault.InternalError, "nothing computes the function %s", s.Name)
}

// row appends the value of one row.
type row func(args []batch.Column, i int, out *batch.Builder) *fault.Error

// strict makes a function that is NULL where an argument is.
func strict(r row) Function {
	return func(args []batch.Column, rows int, out *batch.Builder) *fault.Error {
		for i := range rows {
			if anyNull(args, i) {
				out.AppendNull()
			} else if err := r(args, i, out); err != nil {
				return err
			}
		}
		return nil
	}
}

// lenient makes a function that sees NULL in its arguments.
func lenient(r row) Function {
	return func(args []batch.Column, rows int, out *batch.Builder) *fault.Error {
		for i := range rows {
			if err := r(args, i, out); err != nil {
				return err
			}
		}
		return nil
	}
}

// plain is the maker of a strict function that needs nothing but its rows.
func plain(r row) func(*Spec) (Function, error) {
	return func(*Spec) (Function, error) { return strict(r), nil }
}

// free is the maker of a function that sees NULL.
func free(r row) func(*Spec) (Function, error) {
	return func(*Spec) (Function, error) { return lenient(r), nil }
}

func anyNull(args []batch.Column, i int) bool {
	for a := range args {
		if args[a].IsNull(i) {
			return true
		}
	}
	return false
}

func int32At(c *batch.Column, i int) int { return int(batch.Values[int32](c)[i]) }

func int64At(c *batch.Column, i int) int64 { return batch.Values[int64](c)[i] }

func doubleAt(c *batch.Column, i int) float64 { return batch.Values[float64](c)[i] }
