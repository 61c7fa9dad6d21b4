package exec

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"

	"sluice/batch"
)

const (
	longestLine = 4 << 10 // bytes of a line that are logged
	mostLines   = 1000    // lines of one batch that are logged
	keptLines   = 5       // lines that an error message shows
)

// logs returns writers for what the program says: its errors are logged as warnings, its output at debug level.
func (s *Sink) logs(id batch.ID) (complaints, output *logged) {
	log := slog.With("flow", id.Flow, "program", s.opts.command[0], "generation", id.Generation, "batch", id.Number)
	return &logged{log: log, level: slog.LevelWarn}, &logged{log: log, level: slog.LevelDebug}
}

// logged writes lines to the log, bounded in length and number. A process's two outputs may be copied while another
// goroutine asks for the last lines.
type logged struct {
	log   *slog.Logger
	level slog.Level

	mu    sync.Mutex
	line  []byte
	long  bool // the line has more bytes than are kept
	lines int
	kept  []string
}

// Write implements io.Writer. It takes everything.
func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(p)
	for {
		newline := bytes.IndexByte(p, '\n')
		if newline < 0 {
			l.add(p)
			return n, nil
		}
		l.add(p[:newline])
		l.flush()
		p = p[newline+1:]
	}
}

func (l *logged) add(p []byte) {
	if room := longestLine - len(l.line); len(p) > room {
		p, l.long = p[:room], true
	}
	l.line = append(l.line, p...)
}

// flush logs the line.
func (l *logged) flush() {
	text := strings.TrimSuffix(strings.ToValidUTF8(string(l.line), "\ufffd"), "\r")
	if l.long {
		text += "..."
	}
	l.line, l.long = l.line[:0], false
	if text == "" {
		return
	}
	l.lines++
	switch {
	case l.lines <= mostLines:
		l.log.Log(context.Background(), l.level, text)
	case l.lines == mostLines+1:
		l.log.Log(context.Background(), l.level, "the program says more than is logged")
	}
	if len(l.kept) == keptLines {
		l.kept = append(l.kept[:0], l.kept[1:]...)
	}
	l.kept = append(l.kept, text)
}

// begin starts the count of lines of a batch anew.
func (l *logged) begin(log *slog.Logger) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.log, l.lines, l.kept = log, 0, nil
}

// end logs a last line that has no end.
func (l *logged) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flush()
}

// last returns the last lines, for an error message.
func (l *logged) last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.kept, " / ")
}
