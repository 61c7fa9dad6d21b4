package json

import (
	"slices"
	"time"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
)

// FromOptions say what from_json reads.
type FromOptions struct {
	Type batch.Type // STRUCT, ARRAY or MAP; NOT NULL inside it does not count
	// CorruptRecord is the index of the STRING field of a STRUCT that takes the text in which something could not be read, or -1.
	CorruptRecord    int
	FailFast         bool           // what cannot be read is an error instead of NULL
	Zone             *time.Location // of TIMESTAMP texts without a zone; nil means UTC
	NumbersAsStrings bool
	TimestampUnit    format.TimestampUnit
	Times            format.Times
	NoNames          bool // NaN and the infinities have no names in texts
	// Used are the parts that are asked for, as the fields that lead there; nil means all. The others are read as far as it takes to
	// know what is lost of them, and what stands there is undefined.
	Used [][]int
}

// From computes from_json(text, schema): one value for each text, as Spark does with mode PERMISSIVE (D-14). A field that is not
// of its type is NULL, and so is the array or map around it, up to the next object; a text that is no document of the type
// is a struct of NULLs, or NULL for arrays and maps; a blank text is NULL. Names match exactly. A STRING takes whatever stands there.
// Dates and times are read as casts do.
//
// What is no JSON by RFC 8259, an object with a name twice, a decimal with too many digits and a number for a TIMESTAMP are
// refused here as they are in records (D-8, D-58), where Spark is more lenient.
type From struct {
	d        decoder
	typ      batch.Type
	failFast bool
	corrupt  int
}

// NewFrom refuses a type that JSON cannot fill.
func NewFrom(o FromOptions) (*From, error) {
	f := &From{typ: o.Type, failFast: o.FailFast, corrupt: o.CorruptRecord}
	f.d = decoder{spark: true, numbersAsStrings: o.NumbersAsStrings, noNames: o.NoNames,
		Scalars: format.Scalars{Zone: format.NewZone(o.Zone), Unit: o.TimestampUnit, Times: o.Times, Casts: format.NewTimeParser(o.Zone)}}
	f.d.maxDepth = DefaultMaxDepth
	if err := f.d.root.init("", o.Type, nil, o.CorruptRecord); err != nil {
		return nil, err
	}
	f.d.root.lenient()
	if o.Used != nil {
		f.d.root.use(o.Used)
	}
	if o.CorruptRecord >= 0 {
		if c := o.Type.Fields[o.CorruptRecord]; c.Type.Kind != batch.String {
			return nil, fault.New(fault.CorruptRecordType, "%s is %s", c.Name, c.Type).WithHint("it holds the raw text: declare it STRING")
		}
		if f.d.root.children[o.CorruptRecord].unused {
			f.corrupt = -1
		}
	}
	return f, nil
}

// use makes everything in n unused but the given parts.
func (n *node) use(parts [][]int) {
	n.unused = len(parts) == 0
	if slices.ContainsFunc(parts, func(path []int) bool { return len(path) == 0 }) {
		return
	}
	for i := range n.children {
		var inside [][]int
		for _, path := range parts {
			if path[0] == i {
				inside = append(inside, path[1:])
			}
		}
		n.children[i].use(inside)
	}
}

// lenient makes n and what is in it match names exactly and take NULL.
func (n *node) lenient() {
	n.notNull = false
	if n.names != nil {
		n.names = newNames(exactOnly(n.names.resolve))
	}
	for i := range n.children {
		n.children[i].lenient()
	}
}

func exactOnly(resolve func([]byte) (int32, bool)) func([]byte) (int32, bool) {
	return func(text []byte) (int32, bool) {
		if member, exact := resolve(text); exact {
			return member, true
		}
		return -1, false
	}
}

// Append appends the value of each text, NULL for a NULL, and returns how much became NULL that was not. With FailFast the
// first such thing is an error, and out has the values before it.
func (f *From) Append(texts *batch.Column, out *batch.Builder) (nulled format.Nulled, err *fault.Error) {
	f.d.root.bind(out)
	for i := range texts.Len {
		one, err := f.one(texts, i, out)
		if err != nil {
			return format.Nulled{}, err
		}
		nulled.Add(one)
	}
	return nulled, nil
}

// Lost is what became NULL of a text that was not, or with FailFast why there is no value for it.
type Lost struct {
	Row int // of what was decoded
	format.Nulled
	Err *fault.Error
}

// Decode appends the value of each of the texts in the given rows, of all when rows is nil, and returns of which something was
// lost. It is Append for values that may be asked for later, one by one, or not at all: an error is NULL in its row.
func (f *From) Decode(texts *batch.Column, rows []int32, out *batch.Builder, lost []Lost) []Lost {
	f.d.root.bind(out)
	n := texts.Len
	if rows != nil {
		n = len(rows)
	}
	for row := range n {
		from := row
		if rows != nil {
			from = int(rows[row])
		}
		nulled, err := f.one(texts, from, out)
		if err != nil {
			out.AppendNull()
		}
		if err != nil || nulled != (format.Nulled{}) {
			lost = append(lost, Lost{row, nulled, err})
		}
	}
	return lost
}

// one appends the value of one text.
func (f *From) one(texts *batch.Column, i int, out *batch.Builder) (nulled format.Nulled, err *fault.Error) {
	if texts.IsNull(i) {
		out.AppendNull()
		return nulled, nil
	}
	f.d.nulled = 0
	ok, err := f.append(texts.Text(i), out)
	if !ok && err == nil {
		nulled.Documents = 1
	}
	nulled.Fields = f.d.nulled
	return nulled, err
}

// Forget gives up the memory of long texts.
func (f *From) Forget() { f.d.Forget() }

// append appends the value of one text, and reports whether that is a document of the type.
func (f *From) append(src []byte, out *batch.Builder) (ok bool, err *fault.Error) {
	start := blank(src, 0)
	if start == len(src) {
		out.AppendNull()
		return true, nil
	}
	d, row, nulled := &f.d, out.Len(), f.d.nulled
	d.depth, d.unreadable = 0, nil
	i := f.root(src, start)
	if i > 0 {
		if i = blank(src, i); i < len(src) {
			i = d.fail(src, i, "nothing behind the document")
		}
	}
	switch {
	case i < 0:
		err = d.syntax
	case d.unreadable != nil:
		err = d.unreadable
	case d.nulled > nulled:
		err = d.lastNulled
	}
	if err != nil && f.failFast {
		out.Truncate(row)
		failure := *err
		failure.Code = fault.MalformedRecord
		return false, &failure
	}
	if i < 0 || d.unreadable != nil {
		d.nulled = nulled
		out.Truncate(row)
		f.appendEmpty(out)
	}
	if err != nil && f.corrupt >= 0 {
		raw := out.Child(f.corrupt)
		raw.Truncate(row)
		raw.AppendText(src)
	}
	return i > 0 && d.unreadable == nil, nil
}

// root reads the one document of a text.
func (f *From) root(src []byte, i int) int {
	d, n, c := &f.d, &f.d.root, src[i]
	switch {
	case n.kind == batch.Struct && c == '{', n.kind == batch.Map && c == '{', n.kind == batch.Array && c == '[':
		return d.value(src, i, n)
	case n.kind == batch.Array && n.children[0].kind == batch.Struct && c == '{': // Spark takes one for an array of one
		if i = d.value(src, i, &n.children[0]); i > 0 {
			n.b.AppendNested()
		}
		return i
	}
	return d.fail(src, i, "a value of type "+f.typ.String())
}

// appendEmpty appends what a text gives that is no document.
func (f *From) appendEmpty(out *batch.Builder) {
	if f.typ.Kind != batch.Struct {
		out.AppendNull()
		return
	}
	for i := range f.typ.Fields {
		out.Child(i).AppendNull()
	}
	out.AppendNested()
}

// absorb makes NULL what was not readable of the object just read into n.
func (d *decoder) absorb(n *node) {
	if !n.anyUnreadable {
		return
	}
	for m := range n.state {
		if err := n.state[m].err; err != nil {
			b := n.children[m].b
			b.Truncate(b.Len() - 1)
			b.AppendNull()
			d.nulled++
			d.lastNulled = err
		}
	}
}

// asText reads a value that is no string into a STRING: its JSON, without blanks.
func (d *decoder) asText(src []byte, i int, n *node) int {
	next := d.skip(src, i)
	if next > 0 {
		d.compact = compact(d.compact[:0], src[i:next])
		n.b.AppendText(d.compact)
	}
	return next
}

// compact appends a valid value without the blanks around its parts.
func compact(dst, value []byte) []byte {
	for i := 0; i < len(value); i++ {
		switch c := value[i]; c {
		case ' ', '\n', '\r', '\t':
		case '"':
			start := i
			for i++; value[i] != '"'; i++ {
				if value[i] == '\\' {
					i++
				}
			}
			dst = append(dst, value[start:i+1]...)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}
