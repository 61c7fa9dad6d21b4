package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// consoles are the parts of a document that show commands with what they print: `$ ` and a command, then its output.
var consoles = regexp.MustCompile("(?s)```console\n(.*?)```")

// The README of an example shows what its commands print: they are run as they stand there, one after the other, in a copy of the example's folder. What
// is printed to stderr (the log) is not shown.
func TestTranscriptsOfExamples(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no sh")
	}
	paths, err := filepath.Glob("../../examples/*/README.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := 0
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		blocks := consoles.FindAllStringSubmatch(string(text), -1)
		if blocks == nil {
			continue
		}
		name := filepath.Base(filepath.Dir(path))
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), name)
			if err := os.CopyFS(folder, os.DirFS(filepath.Dir(path))); err != nil {
				t.Fatal(err)
			}
			programs := t.TempDir()
			if err := os.Symlink(program(t), filepath.Join(programs, "processor")); err != nil {
				t.Fatal(err)
			}
			env := append(os.Environ(), beProcessor+"=1", "SLUICE_LISTEN=127.0.0.1:0", "PATH="+programs+":"+os.Getenv("PATH"))
			for _, b := range blocks {
				for _, c := range strings.Split("\n"+b[1], "\n$ ")[1:] {
					commands++
					line, want, _ := strings.Cut(c, "\n")
					if got := shell(t, sh, folder, env, line); got != strings.TrimSuffix(want, "\n") {
						t.Fatalf("$ %s\n%s\n\nand the README has\n%s", line, got, want)
					}
				}
			}
		})
	}
	if commands < 10 {
		t.Errorf("only %d commands were run", commands)
	}
}

// program is the test binary, which is the processor too.
func program(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// shell runs a command in a folder and returns what it prints, the port being the one of the documents.
func shell(t *testing.T, sh, folder string, env []string, line string) string {
	t.Helper()
	c := exec.Command(sh, "-c", line)
	var log bytes.Buffer
	c.Dir, c.Env, c.Stderr = folder, env, &log
	out, err := c.Output()
	if err != nil {
		t.Fatalf("$ %s\n%s%v\n%s", line, out, err, log.String())
	}
	return strings.TrimSuffix(regexp.MustCompile(`127\.0\.0\.1:\d+`).ReplaceAllString(string(out), "127.0.0.1:7070"), "\n")
}
