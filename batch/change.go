package batch

// Change is what a row of a change feed means.
type Change uint8

const (
	InsertRow Change = iota
	DeleteRow
	UpdatePreimage
	UpdatePostimage
)

func (c Change) String() string {
	return [...]string{"insert", "delete", "update_preimage", "update_postimage"}[c]
}
