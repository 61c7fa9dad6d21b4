package exec

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The tests' own binary is the program of the sinks: TestMain plays it when the variable PLAY names a part.
func TestMain(m *testing.M) {
	if part := os.Getenv("PLAY"); part != "" {
		os.Exit(play(part, os.Args[1:]))
	}
	os.Exit(m.Run())
}

// play is a program with the given part. Its first argument is the folder of the target.
func play(part string, args []string) int {
	dir := args[0]
	switch part {
	case "take":
		rows, err := io.ReadAll(os.Stdin)
		if err != nil {
			return 1
		}
		return take(dir, os.Getenv("SLUICE_GENERATION")+"-"+os.Getenv("SLUICE_BATCH"), rows)
	case "stay":
		return stay(dir)
	case "environment":
		for _, v := range os.Environ() {
			if strings.HasPrefix(v, "SLUICE_") {
				fmt.Fprintln(os.Stderr, v)
			}
		}
		cwd, _ := os.Getwd()
		fmt.Fprintln(os.Stderr, "cwd "+cwd)
		fmt.Println("said on standard output")
		return 3
	case "exit":
		var code int
		fmt.Sscan(args[1], &code)
		fmt.Fprintf(os.Stderr, "first line\n%s\nlast words", strings.Repeat("x", 2*longestLine))
		return code
	case "hang":
		child := exec.Command("sleep", "1000") // in the same group
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		if child.Start() != nil {
			return 1
		}
		os.WriteFile(filepath.Join(dir, "child"), []byte(fmt.Sprint(child.Process.Pid)), 0o644)
		time.Sleep(time.Hour)
	}
	return misbehave(part)
}

// take puts rows into a file, under the number of their batch.
func take(dir, name string, rows []byte) int {
	if _, err := os.Stat(filepath.Join(dir, "broken")); err == nil {
		return retryCode
	}
	f, err := os.OpenFile(filepath.Join(dir, "order"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return 1
	}
	defer f.Close()
	file := fmt.Sprintf("%s-%d", name, time.Now().UnixNano())
	if os.WriteFile(filepath.Join(dir, file), rows, 0o644) != nil {
		return 1
	}
	fmt.Fprintln(f, file)
	if os.Remove(filepath.Join(dir, "doubtful")) == nil {
		return retryCode
	}
	return 0
}

// stay answers batches until the input ends.
func stay(dir string) int {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return 0
		}
		var h struct {
			Generation, Batch uint64
			Rows, Bytes       int
		}
		if json.Unmarshal(line, &h) != nil {
			return 1
		}
		rows := make([]byte, h.Bytes)
		if _, err := io.ReadFull(in, rows); err != nil {
			return 1
		}
		if os.Getenv("FORMAT") == "json" && bytes.Count(rows, []byte("\n")) != h.Rows {
			return 1
		}
		switch take(dir, fmt.Sprintf("%d-%d", h.Generation, h.Batch), rows) {
		case 0:
			fmt.Printf("ok %d\n", h.Batch)
		case retryCode:
			fmt.Printf("retry %d the target is away\n", h.Batch)
		default:
			fmt.Printf("fail %d\n", h.Batch)
		}
	}
}

// misbehave breaks the protocol of a program that stays, each part in its way.
func misbehave(part string) int {
	in := bufio.NewReader(os.Stdin)
	header := func() {
		if _, err := in.ReadBytes('\n'); err != nil {
			os.Exit(0)
		}
	}
	header()
	switch part {
	case "wrong word":
		io.CopyN(io.Discard, in, 9)
		fmt.Println("done 0")
	case "wrong number":
		io.CopyN(io.Discard, in, 9)
		fmt.Println("ok 17")
	case "endless answer":
		for {
			if _, err := fmt.Print(strings.Repeat("ok 0 ", 1000)); err != nil {
				return 1
			}
		}
	case "no answer":
		return 0
	case "exit 75":
		return retryCode
	case "exit 4":
		fmt.Fprintln(os.Stderr, "cannot go on")
		return 4
	case "fail at once":
		fmt.Println("fail 0 no such table")
		time.Sleep(time.Hour)
	case "ok at once":
		fmt.Println("ok 0")
		time.Sleep(time.Hour)
	case "ok and gone":
		io.CopyN(io.Discard, in, 9)
		fmt.Println("ok 0")
		return 0
	case "never ends":
		io.CopyN(io.Discard, in, 9)
		fmt.Println("ok 0")
		io.Copy(io.Discard, in)
		time.Sleep(time.Hour)
	}
	io.Copy(io.Discard, in)
	return 0
}
