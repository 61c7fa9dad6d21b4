package syntax

func (p *printer) insert(s *InsertStatement) {
	p.put("INSERT INTO ")
	p.name(s.Target)
	if s.Columns != nil {
		p.put(" ")
		p.idents(s.Columns)
	}
	p.putIf(s.ByName, " BY NAME")
	p.put("\n")
	p.query(s.Query)
}

func (p *printer) update(s *UpdateStatement) {
	p.put("UPDATE ")
	p.tableRef(&s.Target)
	p.put(" SET ")
	each(p, s.Set, func(a Assignment) {
		p.name(a.Column)
		p.put(" = ")
		if a.Value == nil {
			p.put("DEFAULT")
			return
		}
		p.any(a.Value)
	})
	p.clause(" WHERE ", s.Where)
}

func (p *printer) delete(s *DeleteStatement) {
	p.put("DELETE FROM ")
	p.tableRef(&s.Target)
	p.clause(" WHERE ", s.Where)
}
