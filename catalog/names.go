package catalog

import (
	"slices"
	"strings"

	"sluice/batch"
	"sluice/fault"
	"sluice/option"
	"sluice/syntax"
)

// identity returns the full, lower-cased name of a table (D-9): catalog.schema.table, the spec's defaults in front of
// shorter names. A part that holds a dot or a backtick is quoted, so that two names never have one identity. The grammar
// has seen to it that there are one to three parts and none is empty.
func (s *Spec) identity(n syntax.Name) string {
	parts := []string{s.Catalog, s.Schema, ""}
	for i, p := range n.Parts {
		parts[3-len(n.Parts)+i] = p.Text
	}
	for i, p := range parts {
		parts[i] = strings.ToLower(p)
		if strings.ContainsAny(p, ".`") {
			parts[i] = batch.QuoteName(parts[i])
		}
	}
	return strings.Join(parts, ".")
}

// Show prints a name as it was written.
func Show(n syntax.Name) string {
	parts := make([]string, len(n.Parts))
	for i, p := range n.Parts {
		parts[i] = batch.QuoteName(p.Text)
	}
	return strings.Join(parts, ".")
}

// last is the last part of a name.
func last(n syntax.Name) syntax.Ident { return n.Parts[len(n.Parts)-1] }

// simpleName checks the name of a flow or a sink: one part of letters, digits, _ and - (D-9).
func simpleName(n syntax.Name, what string) (string, *fault.Error) {
	if len(n.Parts) != 1 {
		return "", fault.New(fault.MultipartFlowName, "the %s %s has a name of %d parts", what, Show(n), len(n.Parts)).At(n.Pos).
			WithHint("a %s belongs to the pipeline; call it %s", what, last(n).Text)
	}
	if !plainName.MatchString(n.Parts[0].Text) {
		return "", fault.New(fault.InvalidIdentifier, "%q is not a name for a %s", n.Parts[0].Text, what).At(n.Pos).
			WithHint("use letters, digits, _ and - only")
	}
	return n.Parts[0].Text, nil
}

// reserved are the columns Sluice keeps for itself (D-9, A-32).
var reserved = []string{"_change_type", "_commit_version", "_commit_timestamp", "_commit", "_ordinal", "_pos"}

// IsReserved reports whether a table may not have a column of that name.
func IsReserved(column string) bool {
	for _, r := range reserved {
		if strings.EqualFold(r, column) {
			return true
		}
	}
	return false
}

// suggest adds to e the candidate whose name, or whose last part, is nearest to name, or the hint given instead.
func suggest(e *fault.Error, name string, candidates []string, otherwise string) *fault.Error {
	parts := make([]string, len(candidates))
	for i, c := range candidates {
		parts[i] = c[strings.LastIndexByte(c, '.')+1:]
	}
	if near := option.Nearest(name, parts); near != "" {
		return e.WithHint("did you mean %s?", candidates[slices.Index(parts, near)])
	}
	if otherwise != "" {
		e.WithHint("%s", otherwise)
	}
	return e
}
