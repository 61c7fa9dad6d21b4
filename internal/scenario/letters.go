package scenario

import (
	"context"
	"slices"
	"strconv"
	"strings"
)

// showLetters shows the records of a topic byte for byte. Of headers of a name that comes again all are shown, in their order.
func showLetters(ctx context.Context, w *world, a *words) (string, error) {
	topic, err := a.name()
	if err != nil {
		return "", err
	}
	var names []string
	for len(a.args) > 0 {
		name, err := a.name()
		if err != nil {
			return "", err
		}
		names = append(names, name)
	}
	records, err := w.read(ctx, topic)
	if err != nil {
		return "", err
	}
	var lines []string
	for _, r := range records {
		cells := []string{literal(r.Key), literal(r.Value)}
		for _, h := range r.Headers {
			if slices.Contains(names, h.Key) {
				cells = append(cells, h.Key+":"+literal(h.Value))
			}
		}
		lines = append(lines, strings.Join(cells, " "))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n"), nil
}

func literal(v []byte) string {
	if v == nil {
		return "NULL"
	}
	return strconv.Quote(string(v))
}
