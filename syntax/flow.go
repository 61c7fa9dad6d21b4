package syntax

import "sluice/fault"

// inlineFlow reads what stands behind FLOW in a table (17.1): the rule, then BY NAME, then the query.
func (p *parser) inlineFlow(at Pos, managed bool) *FlowBody {
	f := &FlowBody{Pos: at}
	switch {
	case p.accept("INSERT"):
		p.once(f)
	case p.startsCDC():
		p.autoCDC(f)
		return f
	case p.is("REPLACE"):
		if managed {
			p.report(syntaxError(p.peek().pos, "FLOW REPLACE needs CREATE STREAMING TABLE").WithHint("CREATE TABLE takes FLOW INSERT only (RW-16)"))
		}
		p.replaceRule(f)
	case p.is("SEQUENCE", "BY"):
	default:
		p.fail("INSERT, REPLACE USING, REPLACE WHERE or AUTO CDC behind FLOW")
	}
	p.strayPart(f)
	f.ByName = p.accept("BY", "NAME")
	if !f.ByName {
		p.report(p.missingByName(f.Kind, "in front of the query"))
	}
	p.strayPart(f)
	f.Query = p.query()
	return f
}

// missingByName is the error for a flow that has no BY NAME where it needs one (SQ-03, SQ-09).
func (p *parser) missingByName(k FlowKind, where string) *fault.Error {
	code := fault.ReplaceNeedsByName
	if k == Insert {
		code = fault.InlineFlowNeedsByName
	}
	return fault.New(code, "a flow with %s has no BY NAME", k).At(p.peek().pos).WithHint("write BY NAME %s", where)
}

// strayPart reports SEQUENCE BY where it does not stand behind the keys of REPLACE USING, and reads on behind it.
func (p *parser) strayPart(f *FlowBody) {
	at := p.peek().pos
	if !p.accept("SEQUENCE", "BY") {
		return
	}
	list(p, p.expr)
	e := fault.New(fault.ReplaceMissingKeys, "SEQUENCE BY stands without REPLACE USING").At(at)
	if f.Kind == ReplaceUsing {
		e = syntaxError(at, "SEQUENCE BY stands in the wrong place")
	}
	p.report(e.WithHint("write REPLACE USING (key, ...) SEQUENCE BY column"))
}

func (p *parser) once(f *FlowBody) {
	at := p.peek().pos
	if p.accept("ONCE") {
		f.Once, f.OncePos = true, at
	}
}

// replaceRule reads REPLACE WHERE predicate, or REPLACE USING (keys) SEQUENCE BY expr. Several sequences are kept, so that
// the planner can refuse them (RU-10).
func (p *parser) replaceRule(f *FlowBody) {
	at := p.next().pos
	switch {
	case p.accept("WHERE"):
		f.Kind, f.Predicate = ReplaceWhere, p.expr()
	case p.accept("USING"):
		f.Kind = ReplaceUsing
		p.keys(f, at)
		f.SeqPos = p.peek().pos
		if !p.accept("SEQUENCE", "BY") {
			p.report(fault.New(fault.ReplaceMissingSequence, "REPLACE USING has no SEQUENCE BY").At(f.SeqPos).
				WithHint("write SEQUENCE BY column behind the keys"))
			return
		}
		f.Sequence = list(p, p.expr)
	default:
		p.fail("WHERE or USING behind REPLACE")
	}
}

func (p *parser) keys(f *FlowBody, at Pos) {
	if p.is("(") && !p.is("(", ")") {
		f.Keys = p.idents("a key column's name")
		return
	}
	p.accept("(", ")")
	p.report(fault.New(fault.ReplaceMissingKeys, "REPLACE USING names no key column").At(at).WithHint("write REPLACE USING (key, ...)"))
}

// createFlow reads what stands behind CREATE FLOW (17.2, D-60).
func (p *parser) createFlow(at Pos) *CreateFlow {
	f := &CreateFlow{Pos: at, Name: p.name("the flow's name")}
	seen := clauses{}
	for done := false; !done; {
		switch {
		case seen.accept(p, "DEPENDS", "ON"):
			f.DependsPos = seen["DEPENDS ON"]
			if !p.accept("(", ")") {
				f.DependsOn = parenthesised(p, func() Name { return p.name("a flow's name") })
			}
		case seen.accept(p, "COMMENT"):
			f.Comment = p.text("a string")
		default:
			done = true
		}
	}
	if !p.accept("AS") {
		p.fail("DEPENDS ON, COMMENT or AS")
	}
	p.flowInto(f)
	return f
}

// flowInto reads INSERT [ONCE] INTO [ONCE] [SINK] target ..., and AUTO CDC [ONCE] INTO target ...
func (p *parser) flowInto(f *CreateFlow) {
	f.Body.Pos = p.peek().pos
	switch {
	case p.startsCDC():
		p.cdcInto(f)
	case p.accept("INSERT"):
		p.once(&f.Body)
		p.expect("INTO")
		p.target(f)
		p.insertBody(&f.Body)
	default:
		p.fail("INSERT or AUTO CDC")
	}
}

// target reads [ONCE] [SINK] name. ONCE and SINK are also names.
func (p *parser) target(f *CreateFlow) {
	for {
		switch {
		case p.is("ONCE") && !f.Body.Once && p.nameFollows():
			p.once(&f.Body)
		case p.is("SINK") && !f.IntoSink && p.nameFollows():
			p.next()
			f.IntoSink = true
		default:
			f.Target = p.name("the target's name")
			return
		}
	}
}

// nameFollows reports whether the token behind the next one is a name, not the rest of the statement.
func (p *parser) nameFollows() bool {
	t := p.ahead(1)
	return t.isName() && !(t.kind == word && (reserved[t.upper] || t.is("REPLACE") || p.startsQuery(1)))
}

// insertBody reads [BY NAME] [REPLACE ...] query. BY NAME may be left out of a plain INSERT only (SQ-09), and stands in
// front of REPLACE (SQ-05).
func (p *parser) insertBody(f *FlowBody) {
	f.ByName = p.accept("BY", "NAME")
	if p.is("REPLACE") {
		missing := p.peek().pos
		p.replaceRule(f)
		if !f.ByName {
			p.report(p.missingByName(f.Kind, "behind the target").At(missing))
			p.accept("BY", "NAME") // the order of the inline form
		}
	}
	p.strayPart(f)
	f.Query = p.query()
}

// startsCDC reports whether AUTO CDC comes next, or its older spelling APPLY CHANGES (SQ-13).
func (p *parser) startsCDC() bool { return p.is("AUTO", "CDC") || p.is("APPLY", "CHANGES") }

func (p *parser) cdcInto(f *CreateFlow) {
	p.i += 2
	p.once(&f.Body)
	p.expect("INTO")
	f.Target = p.name("the target's name")
	p.cdc(&f.Body)
}

// autoCDC reads AUTO CDC [ONCE] spec of a table.
func (p *parser) autoCDC(f *FlowBody) {
	p.i += 2
	p.once(f)
	p.cdc(f)
}

// applyChanges reads APPLY CHANGES INTO target spec, which makes a flow called by its target (SQ-13, D-9).
func (p *parser) applyChanges(at Pos) *CreateFlow {
	f := &CreateFlow{Pos: at, Body: FlowBody{Pos: at}}
	p.expect("INTO")
	f.Target = p.name("the target's name")
	last := f.Target.Parts[len(f.Target.Parts)-1]
	f.Name = Name{Parts: []Ident{last}, Pos: last.Pos}
	p.cdc(&f.Body)
	return f
}
