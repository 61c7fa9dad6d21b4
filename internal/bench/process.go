package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// sample is what one process did and used.
type sample struct {
	took   time.Duration
	cpu    time.Duration
	memory int64 // most bytes resident
}

// runProcess runs a program to its end. The time is that of the whole process.
func runProcess(ctx context.Context, name string, args ...string) (sample, []byte, error) {
	c := exec.CommandContext(ctx, name, args...)
	var out, messages bytes.Buffer
	c.Stdout, c.Stderr = &out, &messages
	began := time.Now()
	if err := c.Run(); err != nil {
		return sample{}, nil, fmt.Errorf("%s %s: %w\n%s", name, args[0], err, messages.Bytes())
	}
	s := sample{took: time.Since(began), cpu: c.ProcessState.UserTime() + c.ProcessState.SystemTime()}
	if u, ok := c.ProcessState.SysUsage().(*syscall.Rusage); ok {
		s.memory = int64(u.Maxrss)
		if runtime.GOOS != "darwin" { // there it is bytes
			s.memory <<= 10
		}
	}
	return s, out.Bytes(), nil
}

// runRole runs this program in one of its roles, which prints how long it worked and what it saw.
func runRole(ctx context.Context, role, address string, keys int, want rows) (sample, error) {
	s, out, err := runProcess(ctx, self(), role, strconv.Itoa(keys), address)
	if err != nil {
		return s, err
	}
	var t timed
	if err := json.Unmarshal(out, &t); err != nil {
		return s, fmt.Errorf("%s printed %q: %w", role, out, err)
	}
	s.took = time.Duration(t.Seconds * float64(time.Second))
	return s, t.check(want)
}

// startBroker starts the broker's process and returns its address once the topic is filled.
func startBroker(ctx context.Context, keys int) (address string, stop func(), err error) {
	c := exec.CommandContext(ctx, self(), "broker", strconv.Itoa(keys))
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := c.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		in.Close()
		_ = c.Wait()
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil && err != io.EOF || line == "" {
		stop()
		return "", nil, fmt.Errorf("the broker did not start: %v", err)
	}
	return strings.TrimSpace(line), stop, nil
}

// build builds the processor into dir, with its symbols, so that perf can name functions.
func build(ctx context.Context, dir string) (string, error) {
	path := dir + "/processor"
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", path, "sluice/cmd/processor")
	c.Env = append(os.Environ(), "GOEXPERIMENT=") // as users have it, also when this program has encoding/json/v2
	c.Stderr = os.Stderr
	return path, c.Run()
}

func self() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}
