package trial

import (
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/fault"
	"sluice/option"
	"sluice/plan"
)

// Case is a pipeline and what it is fed with.
type Case struct {
	Name   string
	Plan   *plan.Pipeline   // as the user wrote it; it is not changed
	Topics map[string]Topic // what stands in each topic that is read
	Files  map[string]File  // what stands in for the files of a read_files path, by the path as it is written there
	Now    time.Time        // of the updates of REPLACE WHERE flows in all runs; the present when it is zero
	Expect *Expect          // nil when the only question is whether order matters
	At     fault.Pos        // where it is written; not valid for one that is put together from flags
}

// Topic is a sample of a topic.
type Topic struct {
	Partitions int32 // in the reference run
	Records    []Record
}

// Record is a record of a sample.
type Record struct {
	Partition int32 // in the reference run
	Key       []byte
	Value     []byte // nil is a null value
	Headers   []kgo.RecordHeader
	Time      time.Time
}

// File is the content of a file that stands in for a path.
type File struct{ Content []byte }

// epoch is the time of the first record of a sample that gives no times; each further one is a millisecond later.
var epoch = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// complete fills in what a sample leaves out.
func (t *Topic) complete() {
	for i := range t.Records {
		r := &t.Records[i]
		if r.Time.IsZero() {
			r.Time = epoch.Add(time.Duration(i) * time.Millisecond)
		}
		t.Partitions = max(t.Partitions, r.Partition+1)
	}
	t.Partitions = max(t.Partitions, 1)
}

// Check finds samples that are missing, and those that nothing reads.
func (c *Case) Check() error {
	var problems fault.List
	read := map[string]bool{}
	for _, f := range c.Plan.Flows {
		for _, in := range f.Inputs() {
			switch in.Kind {
			case plan.FromKafka:
				problems = append(problems, c.checkTopics(f, in, read)...)
			case plan.FromFiles:
				read[in.Options.String("path")] = true
			}
		}
	}
	for _, name := range sorted(c.Topics) {
		if !read[name] {
			problems = append(problems, unread(c.At, "topic", name, read))
		}
	}
	for _, path := range sorted(c.Files) {
		if !read[path] {
			problems = append(problems, unread(c.At, "path of read_files", path, read))
		}
	}
	return tidy(problems).Err()
}

// checkTopics looks for the samples of a flow's source and notes which topics it reads.
func (c *Case) checkTopics(f *plan.Flow, in *plan.Input, read map[string]bool) (problems fault.List) {
	topics := in.Options.List("subscribe")
	if pattern := in.Options.String("subscribePattern"); pattern != "" {
		for name := range c.Topics {
			if matches(pattern, name) {
				topics = append(topics, name)
			}
		}
		if len(topics) == 0 {
			return fault.List{noSample(c.At, "flow %s reads the topics like %s, and there is no sample of one", f.Name, pattern).
				WithHint("give one with --sample TOPIC=FILE, take records of the real topics with --last N, or write a test file tests/*.yml")}
		}
	}
	for _, name := range topics {
		read[name] = true
		if _, ok := c.Topics[name]; !ok {
			problems = append(problems, noSample(c.At, "flow %s reads topic %s, and there is no sample of it", f.Name, name).
				WithHint("give one with --sample %s=FILE, take records of the real topics with --last N, or write a test file tests/*.yml", name))
		}
	}
	return problems
}

func noSample(at fault.Pos, format string, args ...any) *fault.Error {
	return fault.New(fault.NoSample, format, args...).At(at)
}

// unread says that a sample is of nothing.
func unread(at fault.Pos, what, name string, read map[string]bool) *fault.Error {
	e := fault.New(fault.SampleNotRead, "no flow reads the %s %s", what, name).At(at)
	names := sorted(read)
	if near := option.Nearest(name, names); near != "" {
		return e.WithHint("did you mean %q?", near)
	}
	if len(names) > 0 {
		return e.WithHint("what is read: %s", strings.Join(names, ", "))
	}
	return e.WithHint("the pipeline reads neither topics nor files")
}

func sorted[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// tidy drops repetitions: several flows may read one topic.
func tidy(list fault.List) (out fault.List) {
	seen := map[string]bool{}
	for _, e := range list {
		if key := e.Code.Name + e.Hint; !seen[key] {
			seen[key] = true
			out = append(out, e)
		}
	}
	return out
}
