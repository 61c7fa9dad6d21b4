package builtin

import (
	"bytes"
	"encoding/base64"
	"math"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
	"golang.org/x/text/transform"

	"sluice/batch"
	"sluice/fault"
)

var texts = map[string]func(*Spec) (Function, error){
	"upper":      changing(func() transform.Transformer { return cases.Upper(language.Und) }, asciiUpper),
	"lower":      changing(func() transform.Transformer { return cases.Lower(language.Und) }, asciiLower),
	"initcap":    newInitcap,
	"reverse":    newReverse,
	"lpad":       newPad(true),
	"repeat":     newRepeat,
	"replace":    newTextReplace,
	"rpad":       newPad(false),
	"split_part": plain(splitPart), "substring_index": plain(substringIndex), "overlay": newOverlay,
	"array_join": newArrayJoin, "levenshtein": newLevenshtein, "find_in_set": plain(findInSet), "soundex": plain(soundex),
	"chr": plain(chr), "unbase64": newUnbase64,
}

// changing makes a function that changes the case of letters, by the full mappings of Unicode: ß becomes SS, and a sigma at
// the end of a word is another one. Plain ASCII, most of what there is, takes a short cut.
func changing(mapping func() transform.Transformer, ascii func(dst, text []byte) ([]byte, bool)) func(*Spec) (Function, error) {
	return func(*Spec) (Function, error) {
		full := mapping()
		var memory []byte
		return strict(func(args []batch.Column, i int, out *batch.Builder) *fault.Error {
			text := args[0].Text(i)
			done, ok := ascii(memory[:0], text)
			if !ok {
				done = transformed(full, memory[:cap(memory)], text)
			}
			memory = done
			out.AppendText(done)
			return nil
		}), nil
	}
}

// transformed writes the transformed text to memory, or to a larger one.
func transformed(t transform.Transformer, memory, text []byte) []byte {
	for {
		t.Reset()
		n, _, err := t.Transform(memory, text, true)
		if err != transform.ErrShortDst {
			return memory[:n]
		}
		memory = make([]byte, 3*len(text)+2*len(memory))
	}
}

func asciiUpper(dst, text []byte) ([]byte, bool) {
	for _, c := range text {
		if c >= utf8.RuneSelf {
			return dst, false
		}
		if c-'a' < 26 {
			c -= 'a' - 'A'
		}
		dst = append(dst, c)
	}
	return dst, true
}

func asciiLower(dst, text []byte) ([]byte, bool) {
	for _, c := range text {
		if c >= utf8.RuneSelf {
			return dst, false
		}
		if c-'A' < 26 {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	return dst, true
}

// newInitcap makes the first letter of every word a capital and the others small ones. Words end at blanks only.
func newInitcap(*Spec) (Function, error) {
	lower, title := cases.Lower(language.Und), cases.Title(language.Und, cases.NoLower)
	var small, letter, memory []byte
	return strict(func(args []batch.Column, i int, out *batch.Builder) *fault.Error {
		memory = memory[:0]
		if text := args[0].Text(i); isASCII(text) {
			memory = asciiInitcap(memory, text)
			out.AppendText(memory)
			return nil
		}
		for text, more := args[0].Text(i), true; more; {
			var word []byte
			if word, text, more = bytes.Cut(text, []byte{' '}); len(word) > 0 {
				_, n := utf8.DecodeRune(word)
				letter = transformed(lower, letter[:cap(letter)], word[:n])
				head := len(letter) // what the first letter takes in the small word
				small = transformed(lower, small[:cap(small)], word)
				letter = transformed(title, letter[:cap(letter)], word[:n])
				memory = append(append(memory, letter...), small[head:]...)
			}
			if more {
				memory = append(memory, ' ')
			}
		}
		out.AppendText(memory)
		return nil
	}), nil
}

func isASCII(text []byte) bool {
	for _, c := range text {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func asciiInitcap(dst, text []byte) []byte {
	first := true
	for _, c := range text {
		switch {
		case first && c-'a' < 26:
			c -= 'a' - 'A'
		case !first && c-'A' < 26:
			c += 'a' - 'A'
		}
		first = c == ' '
		dst = append(dst, c)
	}
	return dst
}

// newReverse reverses the code points of a text, or the elements of an array.
func newReverse(s *Spec) (Function, error) {
	if s.Args[0].Kind == batch.Array {
		return strict(func(args []batch.Column, i int, out *batch.Builder) *fault.Error {
			a := listAt(&args[0], i)
			for j := a.to - 1; j >= a.from; j-- {
				a.append(out, j)
			}
			out.AppendNested()
			return nil
		}), nil
	}
	var memory []byte
	return strict(func(args []batch.Column, i int, out *batch.Builder) *fault.Error {
		memory = memory[:0]
		for text := args[0].Text(i); len(text) > 0; {
			_, n := utf8.DecodeLastRune(text)
			memory = append(memory, text[len(text)-n:]...)
			text = text[:len(text)-n]
		}
		out.AppendText(memory)
		return nil
	}), nil
}

// prefix is the first n code points of a text.
func prefix(text []byte, n int) []byte {
	if n <= 0 {
		return text[:0]
	}
	if n >= len(text) {
		return text
	}
	at := 0
	for ; n > 0 && at < len(text); n-- {
		_, width := utf8.DecodeRune(text[at:])
		at += width
	}
	return text[:at]
}

// keptText is how long a text may be whose memory a function keeps for the next one.
const keptText = 1 << 20

// newRepeat writes a text a number of times.
func newRepeat(*Spec) (Function, error) {
	var memory []byte
	return strict(func(args []batch.Column, i int, out *batch.Builder) *fault.Error {
		text, times := args[0].Text(i), max(int32At(&args[1], i), 0)
		size := times * len(text)
		if size <= math.MaxUint32 {
			out.Room(size) // memory has mostly run out before maxText
		}
		if size > maxText {
			return tooLong("a text of %d bytes", size)
		}
		memory = memory[:0]
		for range times {
			memory = append(memory, text...)
		}
		out.AppendText(memory)
		if cap(memory) > keptText {
			memory = nil
		}
		return nil
	}), nil
}

// newTextReplace writes one text in the place of another, which may be empty and then stands nowhere.
func newTextReplace(*Spec) (Function, error) {
	var memory []byte
	return strict(func(args []batch.Column, i int, out *batch.Builder) *fault.Error {
		text, search, by := args[0].Text(i), args[1].Text(i), args[2].Text(i)
		if len(search) == 0 {
			out.AppendText(text)
			return nil
		}
		memory = memory[:0]
		for {
			at := bytes.Index(text, search)
			if at < 0 {
				break
			}
			memory = append(append(memory, text[:at]...), by...)
			text = text[at+len(search):]
			out.Room(len(memory))
		}
		out.AppendText(append(memory, text...))
		if cap(memory) > keptText {
			memory = nil
		}
		return nil
	}), nil
}

// newPad brings a text to a number of code points, with the characters of another one in front or behind.
func newPad(left bool) func(*Spec) (Function, error) {
	return func(*Spec) (Function, error) {
		var memory []byte
		return strict(func(args []batch.Column, i int, out *batch.Builder) *fault.Error {
			text, n, fill := args[0].Text(i), max(int32At(&args[1], i), 0), args[2].Text(i)
			have := utf8.RuneCount(text)
			if have >= n || len(fill) == 0 {
				out.AppendText(prefix(text, n))
				return nil
			}
			need, width := n-have, utf8.RuneCount(fill)
			if need/width > maxText/len(fill) {
				return tooLong("a text of %d characters", n)
			}
			out.Room(len(text) + (need/width+1)*len(fill))
			memory = memory[:0]
			if !left {
				memory = append(memory, text...)
			}
			for range need / width {
				memory = append(memory, fill...)
			}
			memory = append(memory, prefix(fill, need%width)...)
			if left {
				memory = append(memory, text...)
			}
			out.AppendText(memory)
			return nil
		}), nil
	}
}

// maxText is as long as a text or array that a function makes up may be; no record is longer.
const maxText = 1 << 28

func tooLong(format string, args ...any) *fault.Error {
	return fault.New(fault.ArithmeticOverflow, format+" is longer than one value may be", args...)
}

// splitPart takes the n-th part of a text between separators, from the end where n is negative.
func splitPart(args []batch.Column, i int, out *batch.Builder) *fault.Error {
	text, separator, n := args[0].Text(i), args[1].Text(i), int32At(&args[2], i)
	if n == 0 {
		return fault.New(fault.IndexOfZero, "the index is 0; the first element is 1")
	}
	parts := 1
	if len(separator) > 0 {
		parts += bytes.Count(text, separator)
	}
	if n < 0 {
		n += parts + 1
	}
	if n < 1 || n > parts {
		out.AppendText(nil)
		return nil
	}
	for ; n > 1; n-- {
		text = text[bytes.Index(text, separator)+len(separator):]
	}
	if len(separator) > 0 {
		text, _, _ = bytes.Cut(text, separator)
	}
	out.AppendText(text)
	return nil
}

// substringIndex is what stands before the n-th separator, or behind the n-th from the end where n is negative. Separators
// may overlap, as in Spark.
func substringIndex(args []batch.Column, i int, out *batch.Builder) *fault.Error {
	text, separator, n := args[0].Text(i), args[1].Text(i), int32At(&args[2], i)
	switch {
	case n == 0 || len(separator) == 0:
		text = nil
	case n > 0:
		at := -1
		for ; n > 0; n-- {
			next := bytes.Index(text[at+1:], separator)
			if next < 0 {
				at = len(text)
				break
			}
			at += 1 + next
		}
		text = text[:at]
	default:
		at := len(text)
		for ; n < 0; n++ {
			end := min(at+len(separator)-1, len(text))
			if at == len(text) {
				end = at
			}
			at = bytes.LastIndex(text[:end], separator)
			if at < 0 {
				break
			}
		}
		if at >= 0 {
			text = text[at+len(separator):]
		}
	}
	out.AppendText(text)
	return nil
}

// newOverlay puts a text in the place of some characters of another one: text, replacement, position from 1, length (negative:
// that of the replacement).
func newOverlay(*Spec) (Function, error) {
	var memory []byte
	return strict(func(args []batch.Column, i int, out *batch.Builder) *fault.Error {
		text, by, position, length := args[0].Text(i), args[1].Text(i), int32At(&args[2], i), int32At(&args[3], i)
		if length < 0 {
			length = utf8.RuneCount(by)
		}
		memory = append(memory[:0], prefix(text, position-1)...)
		memory = append(memory, by...)
		memory = append(memory, from(text, position+length)...)
		out.AppendText(memory)
		return nil
	}), nil
}

// from is a text from character n on, counted from 1 or, where negative, from the end; 0 is the same as 1.
func from(text []byte, n int) []byte {
	switch {
	case n > 0:
		return text[len(prefix(text, n-1)):]
	case n < 0:
		return text[len(prefix(text, utf8.RuneCount(text)+n)):]
	}
	return text
}

// newArrayJoin joins texts with a separator; NULLs are left out, or written as the third argument.
func newArrayJoin(s *Spec) (Function, error) {
	var memory []byte
	return strict(func(args []batch.Column, i int, out *batch.Builder) *fault.Error {
		a := listAt(&args[0], i)
		memory = memory[:0]
		first := true
		for j := a.from; j < a.to; j++ {
			null := a.elements.IsNull(j)
			if null && len(args) < 3 {
				continue
			}
			if !first {
				memory = append(memory, args[1].Text(i)...)
			}
			first = false
			if null {
				memory = append(memory, args[2].Text(i)...)
			} else {
				memory = append(memory, a.elements.Text(j)...)
			}
			out.Room(len(memory))
		}
		out.AppendText(memory)
		return nil
	}), nil
}

// newLevenshtein counts the code points to insert, remove or replace; with a limit, -1 where there are more.
func newLevenshtein(*Spec) (Function, error) {
	var x, y []rune
	var before, costs []int32
	return strict(func(args []batch.Column, i int, out *batch.Builder) *fault.Error {
		x, y = runes(x[:0], args[0].Text(i)), runes(y[:0], args[1].Text(i))
		before, costs = before[:0], costs[:0]
		for j := range len(y) + 1 {
			before, costs = append(before, int32(j)), append(costs, 0)
		}
		for r, c := range x {
			costs[0] = int32(r) + 1
			for j, d := range y {
				change := before[j]
				if c != d {
					change++
				}
				costs[j+1] = min(change, before[j+1]+1, costs[j]+1)
			}
			before, costs = costs, before
		}
		distance := before[len(y)]
		if len(args) > 2 && distance > batch.Values[int32](&args[2])[i] {
			distance = -1
		}
		batch.Append(out, distance)
		return nil
	}), nil
}

func runes(dst []rune, text []byte) []rune {
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		dst, text = append(dst, r), text[n:]
	}
	return dst
}

// findInSet is the place of a text in a list with commas, from 1; 0 when it is not there or has a comma.
func findInSet(args []batch.Column, i int, out *batch.Builder) *fault.Error {
	text, set := args[0].Text(i), args[1].Text(i)
	place := int32(0)
	if bytes.IndexByte(text, ',') < 0 {
		for n, more := int32(1), true; more; n++ {
			var item []byte
			if item, set, more = bytes.Cut(set, []byte{','}); bytes.Equal(item, text) {
				place = n
				break
			}
		}
	}
	batch.Append(out, place)
	return nil
}

// soundexCodes of the letters; 7 is what separates nothing (H and W), 0 a vowel.
const soundexCodes = "01230127022455012623017202"

func soundex(args []batch.Column, i int, out *batch.Builder) *fault.Error {
	text := args[0].Text(i)
	if len(text) == 0 || (text[0]|0x20)-'a' >= 26 {
		out.AppendText(text)
		return nil
	}
	code := [4]byte{text[0] &^ 0x20, '0', '0', '0'}
	n, last := 1, soundexCodes[text[0]|0x20-'a']
	for _, c := range text[1:] {
		if c|0x20-'a' >= 26 {
			last = '0'
			continue
		}
		switch digit := soundexCodes[c|0x20-'a']; {
		case digit == '7':
			continue
		case digit != '0' && digit != last:
			code[n] = digit
			n++
			fallthrough
		default:
			last = digit
		}
		if n == len(code) {
			break
		}
	}
	out.AppendText(code[:])
	return nil
}

// chr is the character of a number's lowest byte, none below zero.
func chr(args []batch.Column, i int, out *batch.Builder) *fault.Error {
	n := int64At(&args[0], i)
	if n < 0 {
		out.AppendText(nil)
		return nil
	}
	var memory [utf8.UTFMax]byte
	out.AppendText(utf8.AppendRune(memory[:0], rune(n&0xff)))
	return nil
}

// newUnbase64 skips what is no character of base64, as MIME does. What is padded must be so to whole units.
func newUnbase64(*Spec) (Function, error) {
	var kept, decoded []byte
	return strict(func(args []batch.Column, i int, out *batch.Builder) *fault.Error {
		padded, ok := 0, true
		kept = kept[:0]
		for _, c := range args[0].Text(i) {
			switch {
			case c == '=':
				padded++
			case c == '+' || c == '/' || c-'0' < 10 || (c|0x20)-'a' < 26:
				ok = ok && padded == 0
				kept = append(kept, c)
			}
		}
		var err error
		decoded, err = base64.RawStdEncoding.AppendDecode(decoded[:0], kept)
		if err != nil || !ok || padded > 0 && (len(kept)+padded)%4 != 0 {
			return fault.New(fault.ConversionInvalid, "the text is not written in base64")
		}
		out.AppendText(decoded)
		return nil
	}), nil
}
