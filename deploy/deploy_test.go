// Package deploy has no code: its test keeps the files of this folder in step with the rest.
package deploy

import (
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"sluice/catalog"
)

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

type compose struct {
	Services map[string]struct {
		Image       string
		Environment map[string]string
		Ports       []string
		ReadOnly    bool `yaml:"read_only"`
	}
}

// TestCompose checks the names and numbers that compose.yml shares with the code, the image and Prometheus.
func TestCompose(t *testing.T) {
	var c compose
	if err := yaml.Unmarshal([]byte(read(t, "compose.yml")), &c); err != nil {
		t.Fatal(err)
	}
	daemon := c.Services["sluice"]
	var known []string
	for _, s := range catalog.Settings {
		known = append(known, catalog.EnvName(s.Name))
	}
	for name := range daemon.Environment {
		if strings.HasPrefix(name, "SLUICE_") && !slices.Contains(known, name) {
			t.Errorf("%s is no setting", name)
		}
	}
	if !daemon.ReadOnly {
		t.Error("the daemon's root file system is to be read-only")
	}
	_, port, err := net.SplitHostPort(daemon.Environment["SLUICE_LISTEN"])
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(read(t, "prometheus.yml"), `"sluice:`+port+`"`) {
		t.Errorf("Prometheus does not ask port %s", port)
	}
	if !strings.Contains(read(t, "Dockerfile"), "\nEXPOSE "+port+"\n") {
		t.Errorf("the image does not expose port %s", port)
	}
	for name, s := range c.Services {
		for _, p := range s.Ports {
			if !strings.HasPrefix(p, "127.0.0.1:") {
				t.Errorf("%s publishes %s to other machines", name, p)
			}
		}
	}
	version := regexp.MustCompile(`(?m)^## (\S+)`).FindStringSubmatch(read(t, "../CHANGELOG.md"))[1]
	if !strings.Contains(read(t, "../README.md"), "sluice/sluice:"+version+" ") {
		t.Errorf("the README does not run the image of version %s", version)
	}
	if want := "${SLUICE_IMAGE:-sluice/sluice:" + version + "}"; daemon.Image != want || c.Services["seed"].Image != want {
		t.Errorf("images are %s and %s, want %s", daemon.Image, c.Services["seed"].Image, want)
	}
}

// TestQueries checks that alerts and the questions of docs/metrics.md ask for metrics that exist.
func TestQueries(t *testing.T) {
	exist := map[string]bool{}
	for line := range strings.Lines(read(t, "../metrics/testdata/manifest.txt")) {
		name, rest, _ := strings.Cut(line, "\t")
		exist[name] = true
		if strings.HasPrefix(rest, "histogram") {
			exist[name+"_bucket"], exist[name+"_sum"], exist[name+"_count"] = true, true, true
		}
	}
	asked := 0
	for _, file := range []string{"alerts.yml", "../docs/metrics.md", "../docs/operations.md"} {
		for _, name := range regexp.MustCompile(`\bsluice_[a-z_]+`).FindAllString(read(t, file), -1) {
			asked++
			if !exist[name] {
				t.Errorf("%s names %s, which is no metric", file, name)
			}
		}
	}
	if asked < 20 {
		t.Errorf("only %d metrics were found in the files", asked)
	}
}

// TestAlerts checks that every alert says how bad it is, and that docs/operations.md says what to do.
func TestAlerts(t *testing.T) {
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, "alerts.yml")), &file); err != nil {
		t.Fatal(err)
	}
	manual := read(t, "../docs/operations.md")
	seen := 0
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			seen++
			if r.Expr == "" || r.Annotations["summary"] == "" || r.Labels["severity"] != "critical" && r.Labels["severity"] != "warning" {
				t.Errorf("%+v", r)
			}
			if !strings.Contains(manual, "\n| "+r.Alert+" | ") {
				t.Errorf("docs/operations.md has no row for %s", r.Alert)
			}
		}
	}
	if rows := len(regexp.MustCompile(`(?m)^\| Sluice[A-Z]`).FindAllString(manual, -1)); rows != seen {
		t.Errorf("docs/operations.md has rows for %d alerts, there are %d", rows, seen)
	}
}
