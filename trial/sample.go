package trial

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/fault"
)

// ReadSample reads a sample of a topic. Each line that is not blank is the value of a record, or a whole record as
// `processor topic cat --records` prints it: a JSON object with "value" and nothing but members of such a record. The first
// line decides for all.
func ReadSample(path string) (Topic, error) {
	f, err := os.Open(path)
	if err != nil {
		return Topic{}, fault.New(fault.SampleInvalid, "the sample cannot be read").Because(err)
	}
	defer f.Close()
	return readSample(f, path)
}

func readSample(in io.Reader, path string) (Topic, error) {
	var t Topic
	whole := false
	lines := bufio.NewReaderSize(in, 1<<16)
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return t, fault.New(fault.SampleInvalid, "the sample cannot be read").Because(err)
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(bytes.TrimSpace(line)) > 0 {
			if len(t.Records) == 0 {
				whole = isRecord(line)
			}
			r := Record{Value: line}
			if whole {
				var problem error
				if r, problem = parseRecord(line); problem != nil {
					return t, fault.New(fault.SampleInvalid, "the line is not a record: %v", problem).At(fault.Pos{File: path, Line: number, Column: 1}).
						WithHint("the first line is a record as topic cat --records prints it, so all have to be")
				}
			}
			t.Records = append(t.Records, r)
		}
		if err == io.EOF {
			t.complete()
			return t, nil
		}
	}
}

// recordMembers are those that a printed record may have.
var recordMembers = []string{"topic", "partition", "offset", "timestamp", "key", "value", "base64", "headers"}

// isRecord reports whether a line is a whole record.
func isRecord(line []byte) bool {
	var members map[string]json.RawMessage
	if json.Unmarshal(line, &members) != nil || members["value"] == nil {
		return false
	}
	for name := range members {
		if !slices.Contains(recordMembers, name) {
			return false
		}
	}
	return true
}

// record is a record as text. A value that is no text and not null is a document.
type record struct {
	Topic     string          `json:"topic"`
	Partition int32           `json:"partition"`
	Offset    int64           `json:"offset"`
	Timestamp time.Time       `json:"timestamp"`
	Key       *string         `json:"key"`
	Value     json.RawMessage `json:"value"`
	Base64    []string        `json:"base64"` // members whose bytes are in base64
	Headers   []header        `json:"headers"`
}

type header struct {
	Key   string  `json:"key"`
	Value *string `json:"value"`
}

func parseRecord(line []byte) (Record, error) {
	var p record
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return Record{}, err
	}
	return p.record()
}

// record turns text into bytes.
func (p *record) record() (r Record, err error) {
	r.Partition, r.Time = max(p.Partition, 0), p.Timestamp
	if r.Key, err = p.bytes(p.Key, "key"); err != nil {
		return r, err
	}
	var text *string
	switch {
	case len(p.Value) == 0:
	case p.Value[0] == '"' || string(p.Value) == "null":
		if err := json.Unmarshal(p.Value, &text); err != nil {
			return r, err
		}
	default:
		document := string(p.Value)
		text = &document
	}
	if r.Value, err = p.bytes(text, "value"); err != nil {
		return r, err
	}
	for i, h := range p.Headers {
		name, err := p.bytes(&h.Key, "header name "+strconv.Itoa(i))
		if err != nil {
			return r, err
		}
		value, err := p.bytes(h.Value, "header "+h.Key)
		if err != nil {
			return r, err
		}
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: string(name), Value: value})
	}
	return r, nil
}

func (p *record) bytes(text *string, name string) ([]byte, error) {
	switch {
	case text == nil:
		return nil, nil
	case slices.Contains(p.Base64, name):
		return base64.StdEncoding.DecodeString(*text)
	}
	return []byte(*text), nil
}
