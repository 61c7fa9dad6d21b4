package proof

import (
	"fmt"
	"os"
	"strings"

	"sluice/eval"
	"sluice/internal/model"
	"sluice/internal/scenario"
)

// Difference is where engine and model part.
type Difference struct {
	Command   string
	Got, Want string
	Invalid   bool // the case itself is refused: the generator, or the analysis of pipelines, is wrong
}

func (d *Difference) Error() string {
	return fmt.Sprintf("%s\n  engine:\n    %s\n  model:\n    %s", d.Command, indented(d.Got), indented(d.Want))
}

func indented(s string) string {
	return strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n    ")
}

// Harm is what is done to a run, so that a test sees that it is noticed. The zero value is none.
type Harm struct {
	Rule    model.Rule // the model breaks it
	Through scenario.Through
}

// Check runs a case in the engine and returns the first difference from the model, nil for none.
func Check(c *Case, engine *eval.Engine, harm Harm) (*Difference, error) {
	d, _, err := check(c, engine, harm)
	return d, err
}

// check reports also whether an outage of the case has come.
func check(c *Case, engine *eval.Engine, harm Harm) (d *Difference, failed bool, err error) {
	dir, err := os.MkdirTemp("", "proof-")
	if err != nil {
		return nil, false, err
	}
	defer os.RemoveAll(dir)
	p, err := scenario.NewProgram(dir, c.Variant, harm.Through, engine)
	if err != nil {
		return nil, false, err
	}
	defer p.Close()
	for _, s := range c.script(harm.Rule) {
		got, err := p.Do(s.line, s.input)
		if err != nil {
			return nil, false, fmt.Errorf("%s: %w", s.line, err)
		}
		if got = strings.TrimSuffix(got, "\n"); got != s.want {
			command := s.line
			if s.input != "" {
				command += "\n" + s.input
			}
			return &Difference{Command: command, Got: got, Want: s.want, Invalid: strings.HasPrefix(s.line, "pipeline")}, false, nil
		}
	}
	if err := p.Verify(); err != nil {
		return &Difference{Command: "digests", Got: err.Error(), Want: "those of the rows"}, false, nil
	}
	return nil, !p.OutageToCome(), nil
}
