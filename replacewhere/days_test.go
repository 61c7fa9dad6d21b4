package replacewhere

import (
	"bytes"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sluice/batch"
)

func timestampKey(t time.Time) []byte {
	b := batch.NewBuilder(batch.Of(batch.Timestamp), 1)
	b.AppendInt(t.UnixMicro())
	c := b.Column()
	return batch.AppendKey(nil, []*batch.Column{&c}, 0)
}

// D-25: no instant between two others has a day outside of what is known of theirs, also where clocks are set back over midnight, as in Saint John's until 2011; and where they are
// not, nothing is lost.
func TestDaysOfInstants(t *testing.T) {
	zones := []string{"UTC", "Europe/Berlin", "America/New_York", "America/Sao_Paulo", "America/St_Johns", "Africa/Casablanca", "Pacific/Apia", "Asia/Kathmandu"}
	start := time.Date(1995, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
	end := time.Date(2035, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
	rapid.Check(t, func(r *rapid.T) {
		zone, err := time.LoadLocation(rapid.SampledFrom(zones).Draw(r, "zone"))
		if err != nil {
			r.Fatal(err)
		}
		at := time.UnixMicro(rapid.Int64Range(start, end).Draw(r, "at")).In(zone)
		if rapid.Bool().Draw(r, "near a change") {
			if _, change := at.ZoneBounds(); !change.IsZero() {
				at = change
			}
		}
		near := rapid.Int64Range(-int64(3*time.Hour), int64(3*time.Hour))
		low := at.Add(-time.Duration(rapid.Int64Range(0, int64(3*time.Hour)).Draw(r, "low")))
		high := at.Add(time.Duration(rapid.Int64Range(0, int64(3*time.Hour)).Draw(r, "high")))
		days := (&Column{Known: true, Min: timestampKey(low), Max: timestampKey(high)}).days(zone)
		x := at.Add(time.Duration(near.Draw(r, "x")))
		if x.Before(low.Truncate(time.Microsecond)) || x.After(high.Truncate(time.Microsecond)) {
			return
		}
		day := dayKey(dayOf(x.Truncate(time.Microsecond)))
		if bytes.Compare(day, days.Min) < 0 || bytes.Compare(day, days.Max) > 0 {
			r.Fatalf("%v lies between %v and %v, and its day does not", x, low, high)
		}
	})
	noon := time.Date(2026, 1, 8, 12, 0, 0, 0, time.UTC)
	days := (&Column{Known: true, Min: timestampKey(noon), Max: timestampKey(noon.Add(time.Hour))}).days(time.FixedZone("", 3600))
	if want := dayKey(dayOf(noon)); !bytes.Equal(days.Min, want) || !bytes.Equal(days.Max, want) {
		t.Error("an hour at noon has more than one day")
	}
	newfoundland, err := time.LoadLocation("America/St_Johns") // 00:01 became 23:01 of the day before
	if err != nil {
		t.Fatal(err)
	}
	after := time.Date(1995, 10, 28, 23, 1, 0, 0, time.FixedZone("", -12600))
	days = (&Column{Known: true, Min: timestampKey(after.Add(-time.Hour)), Max: timestampKey(after)}).days(newfoundland)
	if want := dayKey(dayOf(time.Date(1995, 10, 29, 0, 0, 0, 0, time.UTC))); !bytes.Equal(days.Max, want) {
		t.Error("the first minute of the next day is not known, which came before")
	}
}
