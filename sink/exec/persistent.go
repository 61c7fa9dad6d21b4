package exec

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"sluice/batch"
	"sluice/fault"
)

// process is a program that stays. Its answers come on a channel, which is closed at the end of its output.
type process struct {
	cmd     *exec.Cmd
	cancel  context.CancelFunc // kills the group
	stdin   io.WriteCloser
	log     *logged
	stdout  io.ReadCloser
	answers chan string
	reading chan struct{} // closed when the goroutine that reads answers has ended
}

// header is the line in front of a batch.
type header struct {
	Pipeline   string    `json:"pipeline"`
	Flow       string    `json:"flow"`
	Store      string    `json:"store"`
	Epoch      uint64    `json:"epoch"`
	Generation uint64    `json:"generation"`
	Batch      uint64    `json:"batch"`
	Replay     bool      `json:"replay"`
	Time       time.Time `json:"time"`
	Rows       int       `json:"rows"`
	Bytes      int       `json:"bytes"`
}

// start starts the program.
func (s *Sink) start(log *logged) (*process, error) {
	ctx, cancel := context.WithCancel(context.Background())
	p := &process{cmd: s.command(ctx), cancel: cancel, log: log, answers: make(chan string), reading: make(chan struct{})}
	p.cmd.Stderr = p.log
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		cancel()
		return nil, s.notStarted(err)
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		cancel()
		return nil, s.notStarted(err)
	}
	if err := p.cmd.Start(); err != nil {
		cancel()
		return nil, s.notStarted(err)
	}
	p.stdin, p.stdout = stdin, stdout
	go p.read(ctx)
	return p, nil
}

// longestAnswer bounds an answer.
const longestAnswer = 64 << 10

// read hands out answers until the output ends, is no line, or the process is killed. The start of an endless line is
// handed out as the last answer, which nobody understands.
func (p *process) read(ctx context.Context) {
	defer close(p.reading)
	defer close(p.answers)
	lines := bufio.NewReaderSize(p.stdout, longestAnswer)
	for {
		line, err := lines.ReadSlice('\n')
		if len(line) > 0 {
			select {
			case p.answers <- strings.TrimRight(string(line), "\r\n"):
			case <-ctx.Done():
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// finish ends the input, waits a while for the program to exit, and kills it then.
func (p *process) finish() error {
	defer time.AfterFunc(p.cmd.WaitDelay, p.cancel).Stop()
	defer time.AfterFunc(2*p.cmd.WaitDelay, func() { p.stdout.Close() }).Stop() // something outside the group may hold it open
	p.stdin.Close()
	for range p.answers {
		// What it says now answers nothing.
	}
	<-p.reading // Wait closes the pipe that is read
	err := p.cmd.Wait()
	p.log.end()
	p.cancel()
	return err
}

// kill ends the process at once.
func (p *process) kill() {
	p.cancel()
	p.finish()
}

// ask gives the batch to the process that stays and waits for its answer.
func (s *Sink) ask(ctx context.Context, id batch.ID, rows int) error {
	p, err := s.ready(id)
	if err != nil {
		return err
	}
	answer, err := p.exchange(ctx, s.header(id, rows), s.payload.Bytes())
	verdict := s.understand(answer, id.Number)
	if err == nil && !fault.Of(verdict, fault.ExecProtocol) {
		return verdict
	}
	s.running = nil
	if answer != "" && verdict != nil {
		p.kill() // it refuses the batch without having read it, or says something else altogether
		return verdict
	}
	return s.broken(p, err)
}

// ready returns the process that stays, a new one when there is none or when it exited between two batches.
func (s *Sink) ready(id batch.ID) (*process, error) {
	complaints, _ := s.logs(id)
	if p := s.running; p != nil {
		select {
		case answer, ok := <-p.answers:
			s.running = nil
			if ok {
				p.kill()
				return nil, s.protocol("it says %.100q without being asked", answer)
			}
			complaints.log.Warn("the program exited between two batches and is started anew", "exit", p.finish())
		default:
			p.log.begin(complaints.log)
			return p, nil
		}
	}
	var err error
	s.running, err = s.start(complaints)
	return s.running, err
}

// understand is what an answer to a batch means: nil that it was accepted.
func (s *Sink) understand(answer string, number uint64) error {
	word, rest, _ := strings.Cut(answer, " ")
	which, text, _ := strings.Cut(rest, " ")
	code := map[string]*fault.Code{"retry": fault.ExecTryAgain, "fail": fault.ExecFailed}[word]
	accepted := word == "ok" && text == ""
	if which != strconv.FormatUint(number, 10) || !accepted && code == nil {
		return s.protocol("the answer to batch %d is %.100q", number, answer)
	}
	if accepted {
		return nil
	}
	e := fault.New(code, "%s answers %s", s.opts.command[0], word).At(s.config.At)
	if text != "" {
		e.WithDetail("%.1000s", text)
	}
	return e
}

// header is the line in front of the rows.
func (s *Sink) header(id batch.ID, rows int) []byte {
	line, err := json.Marshal(header{id.Pipeline, id.Flow, id.Store, id.Epoch, id.Generation, id.Number, id.Replay, id.Time.UTC(), rows, s.payload.Len()})
	if err != nil {
		panic(err) // numbers and texts can be marshalled
	}
	return append(line, '\n')
}

var (
	errEnded = errors.New("ended without an answer")
	errEarly = errors.New("answered before it had read the batch")
)

// exchange writes a message and waits for the answer. The program must take the whole message before it answers.
func (p *process) exchange(ctx context.Context, header, rows []byte) (string, error) {
	written := make(chan error, 1)
	go func() {
		_, err := p.stdin.Write(header)
		if err == nil {
			_, err = p.stdin.Write(rows)
		}
		written <- err
	}()
	var answer string
	var err error
	select {
	case <-ctx.Done():
		err = ctx.Err()
	case text, ok := <-p.answers:
		answer = text
		if !ok {
			err = errEnded
		}
	}
	if err == nil {
		select {
		case err = <-written:
			return answer, err
		case <-time.After(p.cmd.WaitDelay):
			err = errEarly
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	p.stdin.Close()
	<-written // the pipe is closed, so the write has ended
	return answer, err
}

// broken says what became of a process that gave no answer.
func (s *Sink) broken(p *process, err error) error {
	switch {
	case errors.Is(err, errEarly):
		p.kill()
		return s.protocol("it %v", err)
	case !errors.Is(err, errEnded) && !errors.Is(err, syscall.EPIPE):
		p.kill()
		return fault.New(fault.ExecFailed, "%s cannot be given the batch", s.opts.command[0]).At(s.config.At).Because(err)
	}
	if exit := p.finish(); exit != nil {
		return s.verdict(exit, p.log)
	}
	return s.protocol("it %v", err)
}

func (s *Sink) protocol(format string, args ...any) error {
	return fault.New(fault.ExecProtocol, s.opts.command[0]+": "+format, args...).At(s.config.At).
		WithHint("it reads a header line and as many bytes as that says, and answers with one line: ok, retry or fail, and the number of the batch")
}
