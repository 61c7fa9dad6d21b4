package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"sluice/batch"
	"sluice/catalog"
	"sluice/syntax"
)

// flowFingerprint changes when what a flow does changes, and not when its text is laid out differently (D-62). Secrets do
// not take part, since they are not printed: a fingerprint is kept in the store.
func flowFingerprint(f *catalog.Flow) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s once=%t by name=%t keys=%s", f.Body.Kind, f.Body.Once, f.Body.ByName, strings.Join(f.Keys(), ","))
	for _, s := range f.Body.Sequence {
		fmt.Fprintf(&b, " sequence=%s", syntax.PrintExpr(s))
	}
	if f.Body.Predicate != nil {
		fmt.Fprintf(&b, " where=%s", syntax.PrintExpr(f.Body.Predicate))
	}
	b.WriteString("\n" + syntax.PrintQuery(f.Body.Query))
	return sum(b.String())
}

// tableFingerprint changes when rows that are stored no longer fit: the key columns, their types, the sequence's type
// (D-62, A-106).
func tableFingerprint(t *Table) string {
	switch {
	case t.Replaced:
		return sum("replaced")
	case t.Keys == nil:
		return sum("append")
	}
	var keys []batch.Field
	for _, k := range t.Keys {
		f := t.Fields[k]
		keys = append(keys, batch.Field{Name: fold(f.Name), Type: f.Type})
	}
	return sum("keyed " + batch.DDL(keys) + " sequence " + t.Sequence.String())
}

func sum(text string) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:])
}
