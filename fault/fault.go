package fault

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
)

// Class says who has to act on an error.
type Class uint8

const (
	User     Class = iota // a definition or a command is wrong
	Data                  // a record is wrong
	External              // a broker, a database, a disk or a program outside does not do its part
	Internal              // Sluice itself is wrong; the report should reach its developers
)

func (c Class) String() string { return [...]string{"user", "data", "external", "internal"}[c] }

// Retry says whether doing the same again can help.
type Retry uint8

const (
	Never       Retry = iota // the same attempt fails the same way
	Backoff                  // may pass by itself; try again, waiting longer each time
	AfterChange              // passes once a definition, a setting or the data was changed
)

func (r Retry) String() string { return [...]string{"never", "backoff", "after change"}[r] }

// Code is one entry of the catalogue. Its Name is what people search for; it never changes once released.
type Code struct {
	Name  string
	Class Class
	Retry Retry
	When  string // one sentence: the situation in which it is returned
}

func (c *Code) String() string { return c.Name }

var catalogue []*Code

// define adds a code to the catalogue. It is called by the var blocks of codes_*.go only.
func define(name string, class Class, retry Retry, when string) *Code {
	c := &Code{Name: name, Class: class, Retry: retry, When: when}
	catalogue = append(catalogue, c)
	return c
}

// Catalogue returns every code, sorted by name.
func Catalogue() []*Code {
	out := append([]*Code(nil), catalogue...)
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// Pos is a place in a definition file. Line and Column count from 1; Column counts characters, not bytes. The zero Pos
// means that the error has no place in a file.
type Pos struct {
	File   string
	Line   int
	Column int
}

// IsValid reports whether p names a place.
func (p Pos) IsValid() bool { return p.Line > 0 }

// String prints file:line:column, or the file alone when there is no line.
func (p Pos) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Error is a coded error. Message is one sentence that says what was found; Detail adds facts (a sample value, a list);
// Hint says what to do. Cause, when present, is the error of a library underneath.
type Error struct {
	Code    *Code
	Pos     Pos
	Message string
	Detail  string
	Hint    string
	Cause   error
	Column  string // of the record that the error is about, where it is about one; not printed, since the message names it

	sealed, sealedDetail string // Message and Detail without what came out of records; "" when that is all of it
}

// Payload is text out of a record, as an argument of New and WithDetail.
type Payload string

// New returns an error of the given code; the message is formatted as by fmt.Sprintf.
func New(code *Code, format string, args ...any) *Error {
	e := &Error{Code: code}
	e.Message, e.sealed = printed(format, args)
	return e
}

// printed formats args, and does it once more with every Payload left out.
func printed(format string, args []any) (whole, sealed string) {
	whole = fmt.Sprintf(format, args...)
	hidden := slices.Clone(args)
	for i, a := range args {
		if _, ok := a.(Payload); ok {
			hidden[i] = Payload(ellipsis)
		}
	}
	if sealed = fmt.Sprintf(format, hidden...); sealed == ellipsis {
		sealed = ""
	}
	return whole, sealed
}

const ellipsis = "…"

// WithoutPayload returns e as it may stand in a log: without what came out of records. Nothing is known of the errors of
// libraries about records, so they are left out too.
func (e *Error) WithoutPayload() *Error {
	out := *e
	out.Message, out.Detail = e.sealed, e.sealedDetail
	if out.Message == "" {
		out.Message = strings.TrimSuffix(e.Code.When, ".")
	}
	if e.Code.Class == Data {
		out.Cause = nil
	}
	return &out
}

// At sets the place in a definition file and returns e.
func (e *Error) At(p Pos) *Error { e.Pos = p; return e }

// WithDetail sets the detail and returns e.
func (e *Error) WithDetail(format string, args ...any) *Error {
	e.Detail, e.sealedDetail = printed(format, args)
	return e
}

// Within returns a copy of e whose detail begins with the given text, which says where or when it happened.
func (e *Error) Within(format string, args ...any) *Error {
	out, where := *e, fmt.Sprintf(format, args...)
	out.Detail, out.sealedDetail = joined(where, e.Detail), joined(where, e.sealedDetail)
	return &out
}

func joined(a, b string) string {
	if b == "" {
		return a
	}
	return a + "; " + b
}

// WithHint sets the hint and returns e.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// OfColumn sets the column and returns e.
func (e *Error) OfColumn(name string) *Error { e.Column = name; return e }

// Because sets the cause and returns e.
func (e *Error) Because(err error) *Error { e.Cause = err; return e }

// Error prints position, code, message, cause, detail and hint on one line, parts that are empty left out.
func (e *Error) Error() string {
	var b strings.Builder
	if s := e.Pos.String(); s != "" {
		b.WriteString(s + ": ")
	}
	b.WriteString(e.Code.Name + ": " + e.Message)
	if e.Cause != nil {
		b.WriteString(": " + oneLine(e.Cause.Error()))
	}
	if e.Detail != "" {
		b.WriteString(" (" + e.Detail + ")")
	}
	if e.Hint != "" {
		b.WriteString("; hint: " + e.Hint)
	}
	return b.String()
}

// oneLine joins the lines of a library's error; a line that is the same as the one before is left out (a driver that has tried
// one address in two ways says everything twice).
func oneLine(text string) string {
	if !strings.Contains(text, "\n") {
		return text
	}
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && (len(lines) == 0 || lines[len(lines)-1] != line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "; ")
}

func (e *Error) Unwrap() error { return e.Cause }

// Is reports whether target is an *Error of the same code, so that errors.Is(err, fault.New(code, "")) works; prefer Of.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// Of reports whether err is, wraps or lists an error of the given code.
func Of(err error, code *Code) bool {
	var list List
	if errors.As(err, &list) {
		for _, e := range list {
			if Of(e, code) {
				return true
			}
		}
		return false
	}
	var e *Error
	return errors.As(err, &e) && e.Code == code
}

// From returns the coded error inside err, or err wrapped as INTERNAL_ERROR when nobody coded it.
func From(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	var list List
	if errors.As(err, &list) && len(list) > 0 {
		return list[0]
	}
	return New(InternalError, "unexpected error").Because(err)
}

// List is every problem of a pipeline at once. It is an error when it is not empty.
type List []*Error

// Error prints one problem per line.
func (l List) Error() string {
	lines := make([]string, len(l))
	for i, e := range l {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Err returns l sorted by position, or nil when there is no problem.
func (l List) Err() error {
	if len(l) == 0 {
		return nil
	}
	l.Sort()
	return l
}

// Sort orders problems by file, line and column; problems without a place come first.
func (l List) Sort() {
	sort.SliceStable(l, func(i, j int) bool {
		a, b := l[i].Pos, l[j].Pos
		if a.File != b.File {
			return a.File < b.File
		}
		if a.Line != b.Line {
			return a.Line < b.Line
		}
		return a.Column < b.Column
	})
}
