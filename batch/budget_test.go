package batch

import "testing"

// A builder takes what it grows by out of its budget, whatever its type is, and puts it back.
func TestBudget(t *testing.T) {
	text := make([]byte, 100)
	texts := NewBuilder(ArrayOf(Of(String)), 1)
	texts.Child(0).AppendText(text)
	texts.AppendNested()
	list := texts.Column()
	for name, grow := range map[string]struct {
		typ    Type
		append func(*Builder)
	}{
		"integers": {Of(BigInt), func(b *Builder) { b.AppendInt(1) }},
		"texts":    {Of(String), func(b *Builder) { b.AppendText(text) }},
		"strings":  {Of(String), func(b *Builder) { b.AppendString(string(text)) }},
		"empty":    {Of(String), func(b *Builder) { b.AppendText(nil) }},
		"nulls":    {Of(BigInt), func(b *Builder) { b.AppendNull() }},
		"no texts": {Of(String), func(b *Builder) { b.AppendNull() }},
		"elements": {ArrayOf(Of(BigInt)), func(b *Builder) { b.Child(0).AppendInt(1) }},
		"lists":    {ArrayOf(Of(BigInt)), func(b *Builder) { b.AppendNested() }},
		"others":   {ArrayOf(Of(String)), func(b *Builder) { b.AppendFrom(&list, 0) }},
		"room":     {Of(String), func(b *Builder) { b.Room(1 << 30); b.AppendText(text) }},
	} {
		const most = 1 << 20
		taken := int64(0)
		b := NewBuilder(grow.typ, 0)
		b.Within(func(n int64) bool {
			if taken+n > most {
				return false
			}
			taken += n
			return true
		})
		exceeded := func() (yes bool) {
			defer func() {
				if p := recover(); p != nil {
					yes = p == Exceeded{}
				}
			}()
			for range 4 << 20 {
				grow.append(b)
			}
			return false
		}
		for range 2 {
			if !exceeded() {
				t.Errorf("%s: appended without end", name)
			}
			if held := b.Held(); held > most || held != taken || held < most/4 && name != "room" {
				t.Errorf("%s: %d bytes held, %d taken", name, held, taken)
			}
			b.Free()
			if taken != 0 || b.Len() != 0 {
				t.Errorf("%s: freed, %d bytes are taken", name, taken)
			}
		}
	}
}
