package scenario

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"sluice/eval"
)

// Run runs a file in all of its variants. With -rewrite it runs in the plain one alone, and the file is rewritten.
func Run(t *testing.T, path string, engine *eval.Engine) {
	variants, err := variantsOf(path)
	if err != nil {
		t.Fatal(err)
	}
	if f := flag.Lookup("rewrite"); f != nil && f.Value.String() == "true" {
		variants = variants[:1]
	}
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			w, err := newWorld(t.TempDir(), v, Through{}, engine)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(w.close)
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				out, err := w.execute(d.Cmd, d.CmdArgs, d.Input)
				if err != nil {
					t.Fatalf("%s: %v", d.Pos, err)
				}
				return out
			})
			if err := w.verify(); err != nil {
				t.Error(err)
			}
		})
	}
}

// variantsOf reads the axes that a file fixes.
func variantsOf(path string) ([]variant, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	fixed := map[string]string{}
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		rest, ok := strings.CutPrefix(line, "only ")
		if !ok {
			continue
		}
		if i+2 >= len(lines) || lines[i+1] == "----" || lines[i+2] != "----" {
			return nil, fmt.Errorf("%s:%d: only needs its reason in the next line, and ---- after it", path, i+1)
		}
		for _, pair := range strings.Fields(rest) {
			name, value, _ := strings.Cut(pair, "=")
			fixed[name] = value
		}
	}
	variants, err := family(fixed)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return variants, nil
}
