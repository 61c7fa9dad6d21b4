// Package admin is the daemon's HTTP side, and the client of it for the command line.
//
//	GET  /livez                  200 while the process serves
//	GET  /readyz                 200 when every flow does its job, else 503 with the reasons
//	GET  /version                the build
//	GET  /metrics                Prometheus
//	GET  /api/status             Status
//	GET  /api/events             the event log: ?after=SEQUENCE&limit=N&level=WARN
//	POST /api/query              a SQL query as text; rows as NDJSON (rows.go)
//	POST /api/reset-checkpoint   {"flow": "name"}
//	GET  /                       a page that shows the status
//
// The server knows the daemon through the small interfaces of Config only, and Watch, a listener of events, keeps what
// /api/status and /readyz show.
//
// It promises: an answer other than 200 is an Error with a code of the catalogue; with a token file nothing but /livez, the
// bare verdict of /readyz and the empty page is answered without the token; without one it listens on loopback only
// and refuses requests that a web page of another origin could have sent (D-55); bodies and waits are bounded; Close
// returns when every request has.
//
// It does not encrypt: put a proxy in front for TLS. It does not log what a query says.
package admin
