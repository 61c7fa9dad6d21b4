package admin

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"sluice/fault"
)

const (
	maxQuery = 16 << 20 // bytes of a query's text
	maxOrder = 64 << 10 // bytes of any other body
)

//go:embed ui
var ui embed.FS

// server answers requests.
type server struct {
	config *Config
	token  [sha256.Size]byte // of the token; a hash, so that comparing takes one time for every length
	open   bool              // no token is asked for
	origin *http.CrossOriginProtection
}

// endpoint answers a request or returns why it cannot. It must not have written anything then.
type endpoint func(w http.ResponseWriter, r *http.Request) error

func newHandler(c *Config) (http.Handler, error) {
	if err := checkListen(c.Listen, c.TokenFile); err != nil {
		return nil, err
	}
	token, err := readToken(c.TokenFile)
	if err != nil {
		return nil, err
	}
	s := &server{config: c, token: sha256.Sum256([]byte(token)), open: token == "", origin: http.NewCrossOriginProtection()}
	pages, err := fs.Sub(ui, "ui")
	if err != nil {
		panic(err) // the folder is embedded
	}
	static := http.FileServerFS(pages)
	page := func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-ancestors 'none'")
		static.ServeHTTP(w, r)
		return nil
	}
	mux := http.NewServeMux()
	at := map[string][]route{}
	for _, r := range s.routes(page) {
		at[r.path] = append(at[r.path], r)
	}
	for path, routes := range at {
		mux.Handle(path, s.wrap(func(w http.ResponseWriter, r *http.Request) error { return s.serve(w, r, routes) }))
	}
	mux.Handle("/", s.wrap(func(w http.ResponseWriter, r *http.Request) error {
		return fault.New(fault.EndpointNotFound, "there is nothing at %s", r.URL.Path).WithHint("the API is described in docs/operations.md")
	}))
	return mux, nil
}

// route is what is served at a path.
type route struct {
	method, path string
	secret       bool // asked for with the token only
	serve        endpoint
}

func (s *server) routes(page endpoint) []route {
	return []route{
		{"GET", "/livez", false, s.live},
		{"GET", "/readyz", false, s.ready},
		{"GET", "/{$}", false, page},
		{"GET", "/ui.js", false, page},
		{"GET", "/ui.css", false, page},
		{"GET", "/version", true, s.version},
		{"GET", "/metrics", true, func(w http.ResponseWriter, r *http.Request) error { s.config.Metrics.ServeHTTP(w, r); return nil }},
		{"GET", "/api/status", true, s.status},
		{"GET", "/api/events", true, s.events},
		{"GET", "/api/digest", true, s.digest},
		{"GET", "/api/definitions", true, s.definitions},
		{"POST", "/api/query", true, s.query},
		{"POST", "/api/statement", true, s.statement},
		{"POST", "/api/reset-checkpoint", true, s.resetCheckpoint},
		{"POST", "/api/dlq", true, s.mend},
		{"POST", "/api/undo", true, s.undo},
		{"GET", "/.well-known/databricks-config", false, hostMetadata},
		{"GET", "/api/2.0/pipelines/{pipeline}", true, s.pipeline},
		{"POST", "/api/2.0/pipelines/{pipeline}/updates", true, s.startUpdate},
		{"GET", "/api/2.0/pipelines/{pipeline}/updates", true, s.listUpdates},
		{"GET", "/api/2.0/pipelines/{pipeline}/updates/{update}", true, s.getUpdate},
	}
}

// serve answers with the route that takes the request's method, of those at its path.
func (s *server) serve(w http.ResponseWriter, r *http.Request, at []route) error {
	var methods []string
	for _, route := range at {
		if r.Method != route.method && !(route.method == "GET" && r.Method == "HEAD") {
			methods = append(methods, route.method)
			continue
		}
		if route.secret && !s.authenticated(r) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			return fault.New(fault.Unauthenticated, "the request carries no token, or not the daemon's").
				WithHint("send the content of the daemon's token file as: Authorization: Bearer TOKEN")
		}
		return route.serve(w, r)
	}
	allowed := strings.Join(methods, ", ")
	w.Header().Set("Allow", allowed)
	return fault.New(fault.MethodNotAllowed, "%s does not take %s", r.URL.Path, r.Method).WithHint("use %s", allowed)
}

// wrap adds to an endpoint what all have in common: the checks against pages of other origins, the answer to an error, and
// a line in the log.
func (s *server) wrap(serve endpoint) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		out := &begun{ResponseWriter: w}
		err := s.sameOrigin(r)
		if err == nil {
			err = protect(func() error { return serve(out, r) })
		}
		s.config.Log.Debug("request", "method", r.Method, "path", r.URL.Path, "took", time.Since(start), "error", err)
		if err != nil {
			s.refuse(out, r, err)
		}
	})
}

// begun knows whether an answer has begun, after which no other can be given.
type begun struct {
	http.ResponseWriter
	yes bool
}

func (b *begun) WriteHeader(status int) {
	b.yes = true
	b.ResponseWriter.WriteHeader(status)
}

func (b *begun) Write(p []byte) (int, error) {
	b.yes = true
	return b.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (b *begun) Unwrap() http.ResponseWriter { return b.ResponseWriter }

// protect turns a panic into an internal error with its stack.
func protect(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.New(fault.InternalError, "a request panicked: %v", p).WithDetail("%s", debug.Stack())
		}
	}()
	return f()
}

// sameOrigin refuses what a web page of somebody else can make a browser send: a request that changes something with
// another origin, and, where no token is asked for, a request whose Host is a name that such a page made point to this
// machine (DNS rebinding).
func (s *server) sameOrigin(r *http.Request) error {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if s.open && !loopback(strings.Trim(host, "[]")) {
		return fault.New(fault.PermissionDenied, "the request is for host %q, which is not this daemon", r.Host).
			WithHint("use 127.0.0.1 or localhost, or set a token file")
	}
	if err := s.origin.Check(r); err != nil {
		return fault.New(fault.PermissionDenied, "a web page of another origin sent this request").Because(err)
	}
	return nil
}

func (s *server) authenticated(r *http.Request) bool {
	if s.open {
		return true
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	have := sha256.Sum256([]byte(strings.TrimSpace(token)))
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(have[:], s.token[:]) == 1
}

// refuse answers with an error. An internal one is logged too: somebody has to look at it. An answer that has begun is cut,
// so that the client does not take it for a whole one.
func (s *server) refuse(w *begun, r *http.Request, err error) {
	f := fault.From(err)
	if f.Code.Class == fault.Internal {
		s.config.Log.Error("a request failed", "error", f)
	}
	if w.yes {
		panic(http.ErrAbortHandler)
	}
	if strings.HasPrefix(r.URL.Path, "/api/2.0/") {
		answer(w, statusOf(f.Code), restError{ErrorOf(f), f.Code.Name, f.Error()})
		return
	}
	answer(w, statusOf(f.Code), ErrorOf(f))
}

// restError is an error as clients of Databricks' REST API read it: they show the message alone, so that it has everything.
type restError struct {
	*Error
	ErrorCode string `json:"error_code"`
	Message   string `json:"message"`
}

// statusOf maps an error to a status. What the code does not say, its class does.
func statusOf(code *fault.Code) int {
	switch code {
	case fault.Unauthenticated:
		return http.StatusUnauthorized
	case fault.PermissionDenied:
		return http.StatusForbidden
	case fault.EndpointNotFound, fault.FlowNotFound, fault.NotInQuarantine, fault.PipelineNotFound, fault.UpdateNotFound:
		return http.StatusNotFound
	case fault.UpdateActive:
		return http.StatusConflict
	case fault.MethodNotAllowed:
		return http.StatusMethodNotAllowed
	case fault.RequestTooLarge:
		return http.StatusRequestEntityTooLarge
	}
	switch code.Class {
	case fault.User:
		return http.StatusBadRequest
	case fault.Data:
		return http.StatusUnprocessableEntity
	case fault.External:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// body reads a request's body of at most max bytes.
func body(w http.ResponseWriter, r *http.Request, max int64) ([]byte, error) {
	var text bytes.Buffer
	text.Grow(int(min(max, r.ContentLength+bytes.MinRead))) // which large bodies would double their way up to
	_, err := text.ReadFrom(http.MaxBytesReader(w, r.Body, max))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, fault.New(fault.RequestTooLarge, "the body is larger than %d bytes", large.Limit)
	case err != nil:
		return nil, fault.New(fault.BadRequest, "the body could not be read").Because(err)
	}
	return text.Bytes(), nil
}

// answer sends v as JSON.
func answer(w http.ResponseWriter, status int, v any) {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("an answer of type %T cannot be JSON: %v", v, err))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(append(text, '\n')) // an error means that the client has gone
}
