package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The verbs about topics ask the cluster that the others ask: that of --set, else of the pipeline.
func TestTopicAsksTheBrokersOfThePipeline(t *testing.T) {
	spec := func(lines string) string {
		return files(t, map[string]string{"pipeline.yml": "name: trial\nstorage: state\nlibraries:\n  - glob: {include: flows.sql}\n" + lines})
	}
	named := spec("configuration:\n  kafka.bootstrap.servers: a:1, b:2\n")
	none := spec("")
	empty := t.TempDir()
	for _, c := range []struct {
		in   string
		a    app
		want []string
	}{
		{empty, app{}, []string{defaultBroker}},
		{empty, app{set: []string{"kafka.bootstrap.servers=c:3"}}, []string{"c:3"}},
		{empty, app{spec: named}, []string{"a:1", "b:2"}},
		{empty, app{spec: filepath.Join(named, "pipeline.yml"), set: []string{"kafka.bootstrap.servers=c:3"}}, []string{"c:3"}},
		{named, app{}, []string{"a:1", "b:2"}},
		{none, app{}, []string{defaultBroker}},
	} {
		t.Chdir(c.in)
		if got, err := c.a.brokers(); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("in %s, --spec %q --set %v: %v %v, want %v", c.in, c.a.spec, c.a.set, got, err, c.want)
		}
	}
	t.Chdir(empty)
	if _, err := (&app{spec: "nowhere"}).brokers(); err == nil {
		t.Error("a spec that is not there was not missed")
	}
	if err := os.WriteFile(filepath.Join(empty, "pipeline.yml"), []byte("name: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, err := command("topic", "ls"); code != exitFailure || err == "" {
		t.Errorf("beside a broken spec: exit %d %s", code, err)
	}
	if code, _, err := command("topic", "ls", "-o", "xml"); code != exitUsage {
		t.Errorf("-o xml: exit %d %s", code, err)
	}
}
