package kafka

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"sluice/option"
)

// Offsets that mean a place rather than a number, as in Spark and in the ListOffsets request.
const (
	latest   int64 = -1
	earliest int64 = -2
)

// offsets is where to start or to end: one place for all partitions, a time for all, or either for each partition.
type offsets struct {
	place    int64                      // earliest or latest, when nothing below is set
	millis   int64                      // a time for all partitions; -1 unset
	each     map[string]map[int32]int64 // topic, partition -> offset or place
	times    map[string]map[int32]int64 // topic, partition -> time
	orLatest bool                       // a partition without a record at or after its time: its end, instead of an error
}

// parseOffsets reads the three options that begin with side ("starting" or "ending"). It returns the name of the one that
// is wrong.
func parseOffsets(v option.Values, side string) (o offsets, name string, err error) {
	o.millis = -1
	given := ""
	for _, name := range []string{side + "Offsets", side + "Timestamp", side + "OffsetsByTimestamp"} {
		if !v.Has(name) {
			continue
		}
		if given != "" {
			return o, name, fmt.Errorf("%s is given already", given)
		}
		given = name
	}
	switch given {
	case side + "Timestamp":
		o.millis = v.Int(given)
		if o.millis < 0 {
			err = fmt.Errorf("%d is before 1970", o.millis)
		}
	case side + "OffsetsByTimestamp":
		o.times, err = parsePartitions(v.String(given), 0)
	default:
		name = side + "Offsets"
		err = o.parseText(v.String(name), side)
		return o, name, err
	}
	return o, given, err
}

func (o *offsets) parseText(text, side string) (err error) {
	switch {
	case text == "latest":
		o.place = latest
	case text == "earliest" && side == "starting":
		o.place = earliest
	case text != "" && text[0] == '{':
		lowest := earliest
		if side == "ending" {
			lowest = latest
		}
		o.each, err = parsePartitions(text, lowest)
	default:
		at, bad := time.Parse(time.RFC3339, text)
		if bad != nil || at.UnixMilli() < 0 {
			return fmt.Errorf("%q is neither %s, nor JSON such as {\"topic\":{\"0\":23}}, nor a time such as 2026-01-31T00:00:00Z", text,
				map[string]string{"starting": "earliest or latest", "ending": "latest"}[side])
		}
		o.millis = at.UnixMilli()
	}
	return err
}

// parsePartitions reads {"topic":{"0":23,"1":45}}; numbers below lowest are refused.
func parsePartitions(text string, lowest int64) (map[string]map[int32]int64, error) {
	var raw map[string]map[string]int64
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		return nil, fmt.Errorf("not JSON such as {\"topic\":{\"0\":23}}: %v", err)
	}
	out := map[string]map[int32]int64{}
	for topic, partitions := range raw {
		out[topic] = map[int32]int64{}
		for text, n := range partitions {
			p, err := strconv.ParseInt(text, 10, 32)
			if err != nil || p < 0 {
				return nil, fmt.Errorf("%q is not a partition of %s", text, topic)
			}
			if n < lowest {
				return nil, fmt.Errorf("%d is not possible for %s/%d", n, topic, p)
			}
			out[topic][int32(p)] = n
		}
	}
	return out, nil
}
