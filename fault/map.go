package fault

// Map returns a copy of e with every text of its own passed through f; its cause is as it was. Every text that e can show
// is among them, so that what f takes out is out.
func (e *Error) Map(f func(string) string) *Error {
	c := *e
	for _, text := range []*string{&c.Message, &c.Detail, &c.Hint, &c.sealed, &c.sealedDetail} {
		*text = f(*text)
	}
	return &c
}
