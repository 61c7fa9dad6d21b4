package source

import (
	"context"
	"time"

	"sluice/batch"
)

// Trimming is a Source that may have lost records at its beginning: a topic, by its retention.
type Trimming interface {
	Source

	// Trimmed says of each split which records between where it is to be read from and where it ends are not there any more; none when all are.
	Trimmed(ctx context.Context, from batch.Position) ([]Gap, error)

	// Since is from, moved on in each split to the first record of that time or later, where one stands behind it: at most to until.
	Since(ctx context.Context, from, until batch.Position, at time.Time) (batch.Position, error)
}

// Gap are the records of a split that are gone, from First up to Start, which is the first that may be there. Time is that of the first record that
// is there; it is zero when there is none.
type Gap struct {
	Split        string
	First, Start int64
	Time         time.Time
}
