package admin

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"sluice/eventlog"
	"sluice/fault"
)

// Client asks a daemon. Every error it returns is coded; those of the daemon come back as they were there.
type Client struct {
	address string
	token   string
	http    http.Client
}

// NewClient returns a client of the daemon at host:port. token may be empty. Calls wait until their context ends.
func NewClient(address, token string) *Client { return &Client{address: address, token: token} }

// Status returns what the daemon is doing.
func (c *Client) Status(ctx context.Context) (out Status, err error) {
	err = c.call(ctx, "GET", "/api/status", nil, &out)
	return out, err
}

// Version returns the daemon's build.
func (c *Client) Version(ctx context.Context) (out Build, err error) {
	err = c.call(ctx, "GET", "/version", nil, &out)
	return out, err
}

// Events returns at most limit records of level or above whose sequence is above after.
func (c *Client) Events(ctx context.Context, after uint64, limit int, level eventlog.Level) (out Events, err error) {
	return c.SelectEvents(ctx, EventQuery{After: after, Limit: limit, Level: level})
}

// SelectEvents returns the records that q chooses.
func (c *Client) SelectEvents(ctx context.Context, q EventQuery) (out Events, err error) {
	v := url.Values{"after": {strconv.FormatUint(q.After, 10)}, "limit": {strconv.Itoa(q.Limit)}, "level": {string(q.Level)}, "newest": {strconv.FormatBool(q.Newest)}}
	err = c.call(ctx, "GET", "/api/events?"+v.Encode(), nil, &out)
	return out, err
}

// ResetCheckpoint makes a flow start anew from an empty checkpoint and returns its new generation.
func (c *Client) ResetCheckpoint(ctx context.Context, flow string) (uint64, error) {
	order, err := json.Marshal(Reset{Flow: flow})
	if err != nil {
		return 0, err
	}
	var out Reset
	err = c.order(ctx, "/api/reset-checkpoint", order, &out)
	return out.Generation, err
}

// StartUpdate starts an update of a pipeline and returns its id at once.
func (c *Client) StartUpdate(ctx context.Context, pipeline string, r UpdateRequest) (string, error) {
	order, err := json.Marshal(r)
	if err != nil {
		return "", err
	}
	var out struct {
		ID string `json:"update_id"`
	}
	err = c.call(ctx, "POST", updatesPath(pipeline), order, &out)
	return out.ID, err
}

// Update returns how an update of a pipeline stands.
func (c *Client) Update(ctx context.Context, pipeline, id string) (UpdateInfo, error) {
	var out struct {
		Update UpdateInfo `json:"update"`
	}
	err := c.call(ctx, "GET", updatesPath(pipeline)+"/"+url.PathEscape(id), nil, &out)
	return out.Update, err
}

func updatesPath(pipeline string) string {
	return "/api/2.0/pipelines/" + url.PathEscape(pipeline) + "/updates"
}

// Live returns nil when the daemon serves.
func (c *Client) Live(ctx context.Context) error {
	answer, err := c.do(ctx, "GET", "/livez", nil)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// Ready returns whether every flow does its job, and if not why.
func (c *Client) Ready(ctx context.Context) (out Readiness, err error) {
	answer, err := c.send(ctx, "GET", "/readyz", nil)
	if err != nil {
		return out, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusServiceUnavailable {
		return out, refusal(answer)
	}
	err = decode(answer.Body, &out)
	return out, err
}

// Digests returns the digests of the tables named, of all when none is.
func (c *Client) Digests(ctx context.Context, tables []string) ([]Digest, error) {
	return c.digests(ctx, url.Values{"table": tables})
}

// VerifyDigests returns the digests that are kept of the tables named, of all when none is, if they are those of the rows.
func (c *Client) VerifyDigests(ctx context.Context, tables []string) ([]Digest, error) {
	return c.digests(ctx, url.Values{"table": tables, "verify": {"true"}})
}

func (c *Client) digests(ctx context.Context, query url.Values) (out []Digest, err error) {
	answer, err := c.do(ctx, "GET", "/api/digest?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	return out, decode(answer.Body, &out)
}

// Definitions returns what the store knows of the definitions the daemon runs.
func (c *Client) Definitions(ctx context.Context) (out json.RawMessage, err error) {
	err = c.call(ctx, "GET", "/api/definitions", nil, &out)
	return out, err
}

// Query runs a query. The caller closes the result.
func (c *Client) Query(ctx context.Context, sql string) (*QueryResult, error) {
	return c.rows(ctx, "/api/query", []byte(sql))
}

// rows sends what is answered with rows.
func (c *Client) rows(ctx context.Context, path string, body []byte) (*QueryResult, error) {
	answer, err := c.do(ctx, "POST", path, body)
	if err != nil {
		return nil, err
	}
	r := &QueryResult{ctx: ctx, body: answer.Body, lines: bufio.NewReaderSize(answer.Body, 64<<10)}
	line, err := r.line()
	if err == nil {
		var h head
		err = decode(bytes.NewReader(line), &h)
		r.Columns = h.Columns
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// QueryResult is the answer to a query.
type QueryResult struct {
	Columns []Column
	ctx     context.Context // of the query
	body    io.ReadCloser
	lines   *bufio.Reader
}

// Next returns the next row, one value per column as JSON text, or io.EOF after the last. An answer that was cut is an
// error.
func (r *QueryResult) Next() ([]json.RawMessage, error) {
	line, err := r.line()
	if err != nil {
		return nil, err
	}
	if line[0] == '[' {
		var row []json.RawMessage
		err := decode(bytes.NewReader(line), &row)
		return row, err
	}
	var last tail
	if err := decode(bytes.NewReader(line), &last); err != nil {
		return nil, err
	}
	if last.Error != nil {
		return nil, last.Error.Fault()
	}
	return nil, io.EOF
}

// line returns the next line, which is not empty.
func (r *QueryResult) line() ([]byte, error) {
	line, err := r.lines.ReadBytes('\n')
	if err != nil {
		return nil, unanswered(r.ctx, fault.New(fault.DaemonUnreachable, "the answer was cut").Because(err))
	}
	if len(line) == 1 {
		return nil, malformed(errors.New("an empty line"))
	}
	return line, nil
}

// Close ends the query if it still runs.
func (r *QueryResult) Close() error { return r.body.Close() }

func (c *Client) call(ctx context.Context, method, path string, body []byte, out any) error {
	answer, err := c.do(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	return decode(answer.Body, out)
}

// do sends a request and returns the answer to it, or the error it was answered with.
func (c *Client) do(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	answer, err := c.send(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		defer answer.Body.Close()
		return nil, refusal(answer)
	}
	return answer, nil
}

func (c *Client) send(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://"+c.address+path, bytes.NewReader(body))
	if err != nil {
		return nil, fault.New(fault.InvalidListenAddress, "%q is not the address of a daemon", c.address).Because(err)
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return nil, unanswered(ctx, fault.New(fault.DaemonUnreachable, "no daemon answers at %s", c.address).Because(err))
	}
	return answer, nil
}

// unanswered is why there is no answer, or no whole one: who asked may have left.
func unanswered(ctx context.Context, otherwise *fault.Error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return fault.New(fault.Interrupted, "the command was interrupted before the daemon had answered").Because(ctx.Err())
	}
	return otherwise
}

// order has the daemon do something, between two batches of a flow.
func (c *Client) order(ctx context.Context, path string, order []byte, out any) error {
	err := c.call(ctx, "POST", path, order, out)
	if fault.Of(err, fault.Interrupted) {
		return fault.From(err).WithHint("what the daemon had not begun to carry out is withdrawn")
	}
	return err
}

// refusal reads the error that was answered instead of a result.
func refusal(answer *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err != nil {
		return fault.New(fault.DaemonUnreachable, "the answer was cut").Because(err)
	}
	var e Error
	if json.Unmarshal(text, &e) != nil || e.Code == "" {
		return malformed(fmt.Errorf("%s: %s", answer.Status, strings.TrimSpace(string(text[:min(len(text), 200)]))))
	}
	return e.Fault()
}

func decode(in io.Reader, out any) error {
	if err := json.NewDecoder(in).Decode(out); err != nil {
		return malformed(err)
	}
	return nil
}

func malformed(err error) error {
	return fault.New(fault.DaemonAnswerMalformed, "the daemon's answer cannot be read").Because(err).
		WithHint("does another program or another version of Sluice listen there?")
}
