package dialect

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// zone writes the conversions between instants and local times of the session's zone. What it writes names the zone; it
// does not rely on a setting of the connection.
type zone struct {
	name string
	utc  bool
	loc  *time.Location
	// folds are the distinct lengths, in seconds, by which clocks of the zone were ever set back. A local time that a fold
	// gives twice means the earlier instant in Spark and the later one in DuckDB. (One that a gap leaves out means the same in
	// both: as many minutes later.)
	folds []int
}

// The span in which a zone's transitions are looked for. Rules of today go on for ever; a year of them is enough.
var foldsFrom, foldsTo = time.Date(1850, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2101, 1, 1, 0, 0, 0, 0, time.UTC)

func newZone(name string) (*zone, error) {
	if name == "" {
		name = "UTC"
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, err
	}
	z := &zone{name: name, loc: loc}
	for at := foldsFrom; at.Before(foldsTo); {
		_, end := at.In(loc).ZoneBounds()
		if end.IsZero() {
			break
		}
		if !end.After(at) { // in the last hours of some years Go finds no later end
			at = at.AddDate(0, 0, 1)
			continue
		}
		_, before := end.Add(-time.Second).Zone()
		_, after := end.Zone()
		if back := before - after; back > 0 && !slices.Contains(z.folds, back) {
			z.folds = append(z.folds, back)
		}
		at = end
	}
	_, offset := time.Unix(0, 0).In(loc).Zone()
	z.utc = offset == 0 && slices.Contains([]string{"UTC", "Etc/UTC", "Etc/GMT", "GMT", "Z"}, name)
	return z, nil
}

// local writes the local time of an instant: TIMESTAMPTZ to TIMESTAMP.
func (z *zone) local(instant string) string {
	if z.utc {
		return fmt.Sprintf("make_timestamp(epoch_us(%s))", instant)
	}
	return fmt.Sprintf("timezone(%s, %s)", quoteText(z.name), instant)
}

// instant writes the instant of a local time: TIMESTAMP to TIMESTAMPTZ.
func (z *zone) instant(local string) string {
	if z.utc {
		return fmt.Sprintf("make_timestamptz(epoch_us(%s))", local)
	}
	late := fmt.Sprintf("timezone(%s, %s)", quoteText(z.name), local)
	if len(z.folds) == 0 {
		return late
	}
	var cases strings.Builder
	for _, seconds := range z.folds {
		early := fmt.Sprintf("(%s - INTERVAL %d SECOND)", late, seconds)
		fmt.Fprintf(&cases, " WHEN %s = %s THEN %s", z.local(early), local, early)
	}
	return fmt.Sprintf("CASE%s ELSE %s END", cases.String(), late)
}

// keeping writes the instant of a local time, near an instant whose offset is kept where the local time allows it, as Java's
// ZonedDateTime does.
func (z *zone) keeping(near, local string) string {
	if z.utc {
		return z.instant(local)
	}
	return fmt.Sprintf("CASE WHEN %s = %s THEN %s ELSE %s END", z.local(near), local, near, z.instant(local))
}
