package syntax

import (
	"strings"

	"sluice/batch"
)

// Print writes a statement as text that reads back as the same tree, positions aside. Clauses stand on lines of their own,
// queries on one. The values of secrets are not shown: '***' stands in their place (D-54).
func Print(s Statement) string {
	p := &printer{}
	p.statement(s)
	return p.String()
}

// PrintQuery writes a query on one line.
func PrintQuery(q *Query) string {
	p := &printer{}
	p.query(q)
	return p.String()
}

// PrintExpr writes an expression on one line, with the parentheses that precedence asks for and no others.
func PrintExpr(e Expr) string {
	p := &printer{}
	p.any(e)
	return p.String()
}

// PrintType writes a type as Spark's DDL does.
func PrintType(t *TypeExpr) string {
	p := &printer{}
	p.dataType(t)
	return p.String()
}

// printer writes text. A method per kind of node appends it.
type printer struct{ strings.Builder }

// put writes its arguments one after the other.
func (p *printer) put(parts ...string) {
	for _, s := range parts {
		p.WriteString(s)
	}
}

// putIf writes s where the condition holds.
func (p *printer) putIf(holds bool, s string) {
	if holds {
		p.WriteString(s)
	}
}

// each writes items with commas between them.
func each[T any](p *printer, items []T, item func(T)) {
	for i, it := range items {
		p.putIf(i > 0, ", ")
		item(it)
	}
}

func (p *printer) ident(i Ident) {
	if i.Quoted {
		p.put("`", strings.ReplaceAll(i.Text, "`", "``"), "`")
		return
	}
	p.put(i.Text)
}

func (p *printer) name(n Name) {
	for i, part := range n.Parts {
		p.putIf(i > 0, ".")
		p.ident(part)
	}
}

func (p *printer) idents(list []Ident) {
	p.put("(")
	each(p, list, p.ident)
	p.put(")")
}

// options writes (key sign value, ...). Keys that are not words stand in quotes.
func (p *printer) options(list []Option, sign string) {
	p.put("(")
	each(p, list, func(o Option) {
		p.put(optionName(o.Key), sign)
		if o.Expr == nil {
			p.put(quoteText(o.Value))
			return
		}
		p.any(o.Expr)
	})
	p.put(")")
}

func optionName(key string) string {
	for _, part := range strings.Split(key, ".") {
		if strings.HasPrefix(batch.QuoteName(part), "`") {
			return quoteText(key)
		}
	}
	return key
}

func (p *printer) dataType(t *TypeExpr) {
	p.put(t.Name)
	switch t.Name {
	case "ARRAY", "MAP":
		p.put("<")
		each(p, t.Fields, func(f TypeField) { p.dataType(f.Type) })
		p.put(">")
	case "STRUCT":
		p.put("<")
		each(p, t.Fields, p.structField)
		p.put(">")
	}
	if len(t.Params) > 0 {
		p.params(t.Params)
	}
}

func (p *printer) structField(f TypeField) {
	p.ident(f.Name)
	p.put(": ")
	p.dataType(f.Type)
	p.putIf(f.NotNull, " NOT NULL")
	if f.Comment != "" {
		p.put(" COMMENT ", quoteText(f.Comment))
	}
}
