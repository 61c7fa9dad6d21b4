package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"sluice/eventlog"
	"sluice/fault"
)

// Config is what the server serves. All but Listen, TokenFile and Log must be set.
type Config struct {
	Listen    string // host:port; port 0 takes a free one
	TokenFile string // holds the token that requests must carry; "" asks for none
	Log       *slog.Logger

	Build   Build
	Metrics http.Handler
	Status  func() Status
	// Events calls visit with the records of the event log whose sequence is above after, in order, until there is no more
	// or visit returns false.
	Events func(ctx context.Context, after uint64, visit func(eventlog.Record) bool) error
	// Query runs one SQL query. The context ends when the client goes or the server closes.
	Query func(ctx context.Context, sql string) (Rows, error)
	// Execute runs one statement of a script, under the same context.
	Execute func(ctx context.Context, s Statement) (Rows, error)
	// Digests are the digests of the tables named, of all when none is.
	Digests func(ctx context.Context, tables []string) ([]Digest, error)
	// VerifyDigests compares the digests that are kept of the tables named, of all when none is, with their rows.
	VerifyDigests func(ctx context.Context, tables []string) ([]Digest, error)
	// Definitions is what the store knows of the definitions the daemon runs, as JSON.
	Definitions func() (json.RawMessage, error)
	// ResetCheckpoint makes a flow start anew from an empty checkpoint, its target untouched (FR-13), and returns its new
	// generation.
	ResetCheckpoint func(ctx context.Context, flow string) (generation uint64, err error)

	// Mend does something about records in quarantine and returns about how many (D-31).
	Mend func(ctx context.Context, m Mending) (int, error)
	// MaxRecord is the size of the largest record that an edit may make.
	MaxRecord int64

	// Undo puts a table back to an earlier version (D-27).
	Undo func(ctx context.Context, u Undo) (Undone, error)

	// StartUpdate starts an update beside what the daemon runs anyway, or only checks the definition, and returns its id at once (D-33).
	StartUpdate func(ctx context.Context, r UpdateRequest) (id string, err error)
	// Updates are the run of the daemon itself and the last updates that were asked for, newest first.
	Updates func() []UpdateInfo

	readTimeout time.Duration // shorter in tests; 0 means 30 seconds
}

// Build says which build of Sluice this is.
type Build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
}

// Server serves until it is closed.
type Server struct {
	http     *http.Server
	listener net.Listener
	cancel   context.CancelFunc // ends the context of every request
	served   chan struct{}      // closed when the accepting goroutine has returned
}

// Listen starts to serve.
func Listen(c Config) (*Server, error) {
	handler, err := newHandler(&c)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return nil, fault.New(fault.ListenFailed, "cannot listen on %s", c.Listen).Because(err).
			WithHint("another daemon may run; set sluice.listen to another address, or to port 0 for a free one")
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{
		listener: listener,
		cancel:   cancel,
		served:   make(chan struct{}),
		http: &http.Server{
			Handler:           handler,
			BaseContext:       func(net.Listener) context.Context { return ctx },
			ReadHeaderTimeout: 5 * time.Second,
			ReadTimeout:       cmp.Or(c.readTimeout, 30*time.Second),
			WriteTimeout:      time.Minute, // a query moves it forward with each piece
			IdleTimeout:       2 * time.Minute,
			MaxHeaderBytes:    64 << 10,
			ErrorLog:          slog.NewLogLogger(c.Log.Handler(), slog.LevelDebug),
		},
	}
	go func() {
		defer close(s.served)
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			c.Log.Error("the admin server stopped", "error", err)
		}
	}()
	return s, nil
}

// Addr is the address that clients reach the server at, as host:port.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Close takes no more requests, waits for those that run until ctx ends, then breaks them off. It returns when all are
// over.
func (s *Server) Close(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	s.cancel()
	if err != nil {
		err = s.http.Close()
	}
	<-s.served
	return err
}

// checkListen refuses an address that is not one, and one that others can reach without a token (D-55).
func checkListen(listen, tokenFile string) error {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return fault.New(fault.InvalidListenAddress, "%q is not an address to listen on", listen).Because(err).
			WithHint("write host:port, as in 127.0.0.1:7070")
	}
	if tokenFile == "" && !loopback(host) {
		return fault.New(fault.ListenRequiresToken, "%s can be reached from other machines, and SQL can be run through it", listen).
			WithHint("set sluice.token_file to a file that holds a token of at least %d characters, or listen on 127.0.0.1", minToken)
	}
	return nil
}

// loopback reports whether host names this machine for itself only.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// minToken is the length below which a token is refused: it could be guessed.
const minToken = 16

// readToken returns the token in a file, blanks and line ends around it left out.
func readToken(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	hint := "put a token of at least 16 visible characters there, as from: openssl rand -hex 32"
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fault.New(fault.InvalidTokenFile, "the token file cannot be read").Because(err).WithHint("%s", hint)
	}
	token := strings.TrimSpace(string(text))
	if len(token) < minToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fault.New(fault.InvalidTokenFile, "what %s holds is too short or has blanks or other characters inside", file).WithHint("%s", hint)
	}
	return token, nil
}
