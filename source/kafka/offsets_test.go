package kafka

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/fault"
	"sluice/option"
)

// D-40: where reads start and end.
func TestStartAndEnd(t *testing.T) {
	onEach(t, func(t *testing.T, k *cluster) {
		topic := k.topic(2)
		base := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
		for i := range 4 {
			k.send(&kgo.Record{Topic: topic, Partition: 0, Value: []byte("v"), Timestamp: base.Add(time.Duration(i) * time.Minute)})
		}
		k.send(&kgo.Record{Topic: topic, Partition: 1, Value: []byte("v"), Timestamp: base.Add(time.Minute)})
		k.deleteRecords(topic, 0, 1)
		each := func(a, b int64) string { return fmt.Sprintf(`{%q:{"0":%d,"1":%d}}`, topic, a, b) }
		minute := func(n int) int64 { return base.Add(time.Duration(n) * time.Minute).UnixMilli() }
		for _, c := range []struct {
			start   bool
			options []string
			want    [2]int64
		}{
			{true, nil, [2]int64{1, 0}},
			{true, []string{"startingOffsets", "earliest"}, [2]int64{1, 0}},
			{true, []string{"startingOffsets", "latest"}, [2]int64{4, 1}},
			{true, []string{"startingOffsets", each(3, -1)}, [2]int64{3, 1}},
			{true, []string{"startingOffsets", each(-2, 0)}, [2]int64{1, 0}},
			{true, []string{"startingOffsets", "2024-05-01T14:01:00+02:00"}, [2]int64{1, 0}},
			{true, []string{"startingOffsets", base.Add(time.Second).Format(time.RFC3339)}, [2]int64{1, 0}},
			{true, []string{"startingTimestamp", fmt.Sprint(minute(1))}, [2]int64{1, 0}},
			{true, []string{"startingTimestamp", fmt.Sprint(minute(2)), "startingOffsetsByTimestampStrategy", "latest"}, [2]int64{2, 1}},
			{true, []string{"startingOffsetsByTimestamp", each(minute(3), minute(0))}, [2]int64{3, 0}},
			{false, nil, [2]int64{4, 1}},
			{false, []string{"endingOffsets", "latest"}, [2]int64{4, 1}},
			{false, []string{"endingOffsets", each(2, -1)}, [2]int64{2, 1}},
			{false, []string{"endingTimestamp", fmt.Sprint(minute(3))}, [2]int64{3, 1}},
		} {
			s := k.open(Config{Options: k.options(topic, c.options...)})
			ask := end
			if c.start {
				ask = start
			}
			pos := ask(t, s)
			if len(pos) != 2 || pos[0].Next.At != c.want[0] || pos[1].Next.At != c.want[1] || pos[0].ID == "" || pos[0].ID != pos[1].ID {
				t.Errorf("%v: %v, want %v", c.options, pos, c.want)
			}
		}
		for _, c := range []struct {
			options []string
			say     string
		}{
			{[]string{"startingOffsets", fmt.Sprintf(`{%q:{"0":1}}`, topic)}, topic + "/1"},
			{[]string{"startingOffsets", fmt.Sprintf(`{%q:{"0":1,"1":0,"7":0}}`, topic)}, topic + "/7"},
			{[]string{"startingTimestamp", fmt.Sprint(minute(2))}, "startingOffsetsByTimestampStrategy"},
			{[]string{"startingOffsetsByTimestamp", fmt.Sprintf(`{%q:{"0":1}}`, topic)}, topic + "/1"},
		} {
			_, err := k.source(topic, c.options...).Start(within(t, time.Minute))
			mustFail(t, err, fault.InvalidOffsets, c.say)
		}
		_, err := k.open(Config{Options: k.options(topic, "endingOffsets", each(5, 1))}).End(within(t, time.Minute))
		mustFail(t, err, fault.InvalidOffsets, "offset 5", "ends at 4")
	})
}

func TestValidate(t *testing.T) {
	base := []string{"bootstrapServers", "b:9092", "subscribe", "t"}
	for _, c := range []struct {
		add    []string
		stream bool
		code   *fault.Code // nil: valid
	}{
		{nil, true, nil},
		{[]string{"startingOffsets", "tomorrow"}, true, fault.InvalidOption},
		{[]string{"startingOffsets", "2024-05-01 10:00:00"}, true, fault.InvalidOption},
		{[]string{"startingOffsets", `{"t":{"a":1}}`}, true, fault.InvalidOption},
		{[]string{"startingOffsets", `{"t":{"0":-3}}`}, true, fault.InvalidOption},
		{[]string{"startingOffsets", `{"t":`}, true, fault.InvalidOption},
		{[]string{"startingOffsets", "latest", "startingTimestamp", "1"}, true, fault.InvalidOption},
		{[]string{"startingTimestamp", "-1"}, true, fault.InvalidOption},
		{[]string{"endingOffsets", "earliest"}, false, fault.InvalidOption},
		{[]string{"endingOffsets", `{"t":{"0":-2}}`}, false, fault.InvalidOption},
		{[]string{"endingOffsets", "latest"}, true, fault.InvalidOption},
		{[]string{"endingTimestamp", "5"}, true, fault.InvalidOption},
		{[]string{"endingOffsets", "latest"}, false, nil},
		{[]string{"subscribePattern", "x"}, true, fault.DuplicateOption},
		{[]string{"failOnDataLoss", "true", "allow_data_loss", "true"}, true, fault.InvalidOption},
		{[]string{"failOnDataLoss", "false", "allow_data_loss", "true"}, true, nil},
		{[]string{"on_null_value", "delete"}, true, fault.InvalidOption},
		{[]string{"on_null_value", "keep", "format", "json"}, true, fault.InvalidOption},
		{[]string{"maxOffsetsPerTrigger", "0"}, true, fault.InvalidOption},
		{[]string{"maxBytesPerTrigger", "0"}, true, fault.InvalidOption},
		{[]string{"kafka.isolation.levl", "read_committed"}, true, fault.UnknownOption},
		{[]string{"kafka.group.id", "g"}, true, fault.UnknownOption},
		{[]string{"kafka.acks", "all"}, true, fault.UnknownOption},
		{[]string{"kafka.fetch.max.bytes", "-1"}, true, fault.InvalidOption},
		{[]string{"isolation_levl", "x"}, true, fault.UnknownOption},
	} {
		err := validate(append(base, c.add...), c.stream, "")
		if c.code == nil && err != nil || c.code != nil && !fault.Of(err, c.code) {
			t.Errorf("%v: got %v, want %v", c.add, err, c.code)
		}
	}
	if err := validate([]string{"subscribe", "t"}, true, ""); !fault.Of(err, fault.MissingOption) {
		t.Errorf("no brokers: %v", err)
	}
	if err := validate([]string{"subscribe", "t"}, true, "fallback:9092"); err != nil {
		t.Error(err)
	}
	if err := validate([]string{"bootstrapServers", "b:1"}, true, ""); !fault.Of(err, fault.MissingOption) {
		t.Errorf("no topic: %v", err)
	}
	if err := validate([]string{"bootstrapServers", "b:1", "subscribePattern", "("}, true, ""); !fault.Of(err, fault.InvalidOption) {
		t.Errorf("pattern: %v", err)
	}
}

func validate(pairs []string, stream bool, fallback string) error {
	var given []option.Given
	for i := 0; i < len(pairs); i += 2 {
		given = append(given, option.Given{Name: pairs[i], Value: pairs[i+1], Pos: fault.Pos{File: "p.sql", Line: i + 1, Column: 1}})
	}
	v, problems := append(Options(), option.Spec{Name: "format"}).Parse("read_kafka", given, fault.Pos{})
	return append(problems, Validate(v, stream, fallback, fault.Pos{File: "p.sql", Line: 99, Column: 1})...).Err()
}
