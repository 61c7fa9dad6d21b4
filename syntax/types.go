package syntax

import "strconv"

// dataType reads a type. Any word is taken for one; ResolveType says which exist.
func (p *parser) dataType() *TypeExpr {
	return nested(p, func() *TypeExpr {
		at := p.peek()
		if at.kind != word {
			p.fail("a type")
		}
		p.next()
		t := &TypeExpr{Name: at.upper, Pos: at.pos}
		switch t.Name {
		case "ARRAY":
			p.expect("<")
			t.Fields = []TypeField{{Type: p.dataType()}}
			p.expect(">")
		case "MAP":
			p.expect("<")
			t.Fields = []TypeField{{Type: p.dataType()}}
			p.expect(",")
			t.Fields = append(t.Fields, TypeField{Type: p.dataType()})
			p.expect(">")
		case "STRUCT":
			t.Fields = p.structFields()
		case "INTERVAL":
			t.Name += p.intervalRange()
		case "TIMESTAMP", "TIME":
			if p.accept("WITHOUT", "TIME", "ZONE") {
				t.Name += " WITHOUT TIME ZONE"
			}
		}
		if t.Fields == nil && p.accept("(") {
			t.Params = list(p, p.typeParam)
			p.closing()
		}
		if p.is("COLLATE") {
			p.refuse(p.peek().pos, "COLLATE", "strings compare by their bytes")
		}
		return t
	})
}

func (p *parser) structFields() []TypeField {
	if p.accept("<>") || p.accept("<", ">") {
		return nil
	}
	p.expect("<")
	fields := list(p, p.structField)
	if !p.accept(">") {
		p.fail("',' or '>'")
	}
	return fields
}

func (p *parser) structField() TypeField {
	f := TypeField{Name: p.ident("a field's name")}
	p.accept(":")
	f.Type = p.dataType()
	f.NotNull = p.accept("NOT", "NULL")
	if p.accept("COMMENT") {
		f.Comment = p.text("a string")
	}
	return f
}

// typeParam reads a precision, a scale or a length.
func (p *parser) typeParam() int {
	t := p.peek()
	n, err := strconv.Atoi(t.text)
	if t.kind != number || t.suffix != "" || err != nil {
		p.fail("a whole number")
	}
	p.next()
	return n
}

// intervalRange reads what may stand behind the type INTERVAL: DAY TO SECOND.
func (p *parser) intervalRange() string {
	units := []string{"YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"}
	from := p.acceptAny(units...)
	if from == "" {
		return ""
	}
	if !p.accept("TO") {
		return " " + from
	}
	to := p.acceptAny(units...)
	if to == "" {
		p.fail("a unit behind TO")
	}
	return " " + from + " TO " + to
}
