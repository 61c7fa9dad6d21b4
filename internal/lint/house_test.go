package lint

import (
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var prune = flag.Bool("prune", false, "remove lines of the lists of exceptions that are none any more")

// TestHouse runs every check over the repository.
func TestHouse(t *testing.T) {
	tree, err := Load(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.Packages()) < 10 {
		t.Fatalf("only %d packages were found", len(tree.Packages()))
	}
	for name, check := range checks {
		t.Run(name, func(t *testing.T) {
			problems := check(tree)
			slices.Sort(problems)
			for _, p := range problems {
				if m := carriedNow.FindStringSubmatch(p); m != nil && *prune {
					removeLine(t, "../../"+m[1], m[2])
					continue
				}
				t.Error(p)
			}
		})
	}
}

var carriedNow = regexp.MustCompile(`^(\S+) lists (\S+), but .*: remove the line`)

func removeLine(t *testing.T, file, id string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, id+" ") {
			kept = append(kept, line)
		}
	}
	if err := os.WriteFile(file, []byte(strings.Join(kept, "")), 0o644); err != nil {
		t.Fatal(err)
	}
}
