package batch

// Demands reports whether a column or any part of it is declared NOT NULL.
func (f Field) Demands() bool {
	if f.NotNull {
		return true
	}
	for _, part := range f.Type.Fields {
		if part.Demands() {
			return true
		}
	}
	return false
}

// Missing finds a value in row i that is null though it is declared NOT NULL, and returns its path (a.b for a member), or
// "" when there is none.
func Missing(f Field, c *Column, i int) string {
	if c.IsNull(i) {
		if f.NotNull {
			return QuoteName(f.Name)
		}
		return "" // what is not there has no parts
	}
	from, to := i, i+1
	if f.Type.Kind == Array || f.Type.Kind == Map {
		from, to = int(c.Offsets[i]), int(c.Offsets[i+1])
	}
	for p, part := range f.Type.Fields {
		if !part.Demands() {
			continue
		}
		for at := from; at < to; at++ {
			if path := Missing(part, &c.Children[p], at); path != "" {
				return QuoteName(f.Name) + "." + path
			}
		}
	}
	return ""
}
