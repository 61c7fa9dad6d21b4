package postgres

import (
	"context"
	"net"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/batch"
	"sluice/fault"
	"sluice/option"
	"sluice/sink"
)

// Config says what a Sink writes and where.
type Config struct {
	Options  option.Values // parsed with Options()
	At       fault.Pos     // of the sink, for messages
	Pipeline string
	Flow     string
	Fields   []batch.Field // columns of the rows it will get
	Feed     bool          // the rows are changes
}

// connectTimeout bounds connecting, where the url does not.
const connectTimeout = 10 * time.Second

// Sink implements sink.Sink.
type Sink struct {
	config Config
	opts   options
	keyed  keyed

	conn  *pgx.Conn // nil when there is none, or none of use
	table *table
	wrote bool  // this run has written
	dead  error // FENCED: nothing is written any more
	keys  batch.Keys
}

// New makes a Sink. It connects at Open.
func New(c Config) (*Sink, error) {
	opts, problems := parse(c.Options, c.At)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	keyed, err := opts.columns(c.Fields)
	if err != nil {
		return nil, fault.From(err).At(c.At)
	}
	return &Sink{config: c, opts: opts, keyed: keyed}, nil
}

// connect makes sure that there is a connection, with what the sink needs in the database.
func (s *Sink) connect(ctx context.Context) error {
	if s.conn != nil && !s.conn.IsClosed() {
		return nil
	}
	c, err := s.dial(ctx)
	if err != nil {
		return err
	}
	t, err := s.describe(ctx, c)
	if err == nil {
		err = s.createBatches(ctx, c, t)
	}
	if err == nil {
		err = s.stage(ctx, c, t)
	}
	if err != nil {
		_ = c.Close(ctx)
		return err
	}
	s.conn, s.table = c, t
	return nil
}

func (s *Sink) dial(ctx context.Context) (*pgx.Conn, error) {
	config, err := s.opts.config()
	if err != nil {
		return nil, fault.New(fault.InvalidOption, "url is not the address of a database").At(s.config.At)
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	dialer := &net.Dialer{KeepAlive: 30 * time.Second} // a server that vanished is noticed within minutes
	config.DialFunc = dialer.DialContext
	config.RuntimeParams["application_name"] = "sluice " + s.config.Pipeline + "." + s.config.Flow
	c, err := pgx.ConnectConfig(ctx, config)
	return c, s.fault(ctx, err, "connecting to the database")
}

// Open implements sink.Sink.
func (s *Sink) Open(ctx context.Context, last batch.ID, ok bool) error {
	if err := s.connect(ctx); err != nil {
		return err
	}
	if !ok || last.Store == "" {
		return nil
	}
	have, found, err := s.identity(ctx, s.conn, false)
	if err != nil || !found {
		return err
	}
	last.Number++ // it may have been sent, too, and nobody came to know
	last.Replay = true
	last.Epoch = max(last.Epoch, have.Epoch) // of the last batch, not of today: the first Write knows
	return have.Admit("table "+s.table.name, last, false)
}

// Write implements sink.Sink.
func (s *Sink) Write(ctx context.Context, id batch.ID, rows sink.Rows) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.dead != nil {
		return s.dead
	}
	if err := s.connect(ctx); err != nil {
		return err
	}
	work, err := s.plan(&rows)
	if err != nil {
		return err
	}
	if err = s.transact(ctx, id, work); err == nil {
		s.wrote = true
		return nil
	}
	if fault.Of(err, fault.Fenced) {
		s.dead = err
	}
	return s.fault(ctx, err, "writing batch %d to %s", id.Number, s.table.name)
}

// transact writes a batch and its identity in one transaction. The lock on the identity's row keeps another run of the
// flow out until the end.
func (s *Sink) transact(ctx context.Context, id batch.ID, work *work) error {
	tx, err := s.conn.Begin(ctx)
	if err != nil {
		return s.broken(err)
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) // after a commit it does nothing
	have, found, err := s.identity(ctx, s.conn, true)
	if err != nil {
		return s.broken(err)
	}
	if err := s.admit(have, found, id); err != nil {
		return err
	}
	next := sink.IdentityOf(id)
	if found && have.Holds(id) {
		next.Number = have.Number // it is there; only the epoch is new
	} else {
		if s.opts.truncate && id.Generation > 0 && (!found || have.Generation < id.Generation) {
			if _, err := tx.Exec(ctx, "TRUNCATE "+s.table.name); err != nil {
				return s.broken(err)
			}
		}
		if err := work.run(ctx, s.conn, s.table); err != nil {
			return s.broken(err)
		}
	}
	if err := s.remember(ctx, tx, found, next); err != nil {
		return s.broken(err)
	}
	return s.broken(tx.Commit(ctx))
}

// broken closes a connection on which something went wrong that is not the rows' fault.
func (s *Sink) broken(err error) error {
	if err != nil && s.conn.IsClosed() {
		s.conn = nil
	}
	return err
}

// Forget gives up buffers, which a large batch has made large.
func (s *Sink) Forget() {
	if s.keys = (batch.Keys{}); s.table != nil {
		s.table.copier.forget()
	}
}

// Close implements sink.Sink.
func (s *Sink) Close() error {
	if s.conn == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = s.conn.Close(ctx) // accepted batches are committed; what the goodbye answers matters to nobody
	s.conn = nil
	return nil
}
