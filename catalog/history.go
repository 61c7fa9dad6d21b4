package catalog

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"sluice/fault"
	"sluice/option"
)

// History says how much of its past a table keeps (D-27): versions that were current so long ago, as long as what they alone have is no more
// than so many times what the table has, or than so many bytes on disk. What is 0 was not said.
type History struct {
	Age          time.Duration
	Times, Bytes int64
}

// history reads sluice.history.
func (b *builder) history(t *Table, g option.Given) {
	h, err := parseHistory(g.Value)
	if err != nil {
		b.report(fault.InvalidTableProperty, g.Pos, "%s of %s is %q: %v", propHistory, t.Display, g.Value, err).
			WithHint("write a duration such as '7 days', and behind a comma, if more or less than twice what the table has may be kept, '5x' or '10 GiB'")
		return
	}
	t.History, t.historyAt = h, g.Pos
}

// parseHistory reads a duration, or a duration, a comma and a multiple or a size.
func parseHistory(text string) (h History, err error) {
	age, limit, limited := strings.Cut(text, ",")
	if h.Age, err = option.ParseDuration(strings.TrimSpace(age)); err != nil || h.Age == 0 {
		return History{}, fmt.Errorf("%q is no duration", strings.TrimSpace(age))
	}
	if !limited {
		return h, nil
	}
	limit = strings.ToLower(strings.TrimSpace(limit))
	if times, ok := strings.CutSuffix(limit, "x"); ok {
		h.Times, err = strconv.ParseInt(strings.TrimSpace(times), 10, 32)
	} else {
		h.Bytes, err = option.ParseSize(limit)
	}
	if err != nil || h.Times+h.Bytes <= 0 {
		return History{}, fmt.Errorf("%q is no multiple and no size", limit)
	}
	return h, nil
}

// String is the property that says it.
func (h History) String() string {
	switch {
	case h.Bytes > 0:
		return fmt.Sprintf("%v, %d", h.Age, h.Bytes)
	case h.Times > 0:
		return fmt.Sprintf("%v, %dx", h.Age, h.Times)
	}
	return h.Age.String()
}
