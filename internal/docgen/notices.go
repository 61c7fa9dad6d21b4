package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// module is one module that the binary contains.
type module struct {
	Path, Version, Dir string
	Main               bool
}

// notices returns NOTICES: which modules the binary contains, and the text of each licence once.
func notices(root string) (file, error) {
	modules, err := linked(root)
	if err != nil {
		return file{}, err
	}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return file{}, err
	}
	modules = append(modules, module{Path: "the Go standard library", Version: "of the Go release that built the binary", Dir: strings.TrimSpace(string(goroot))})
	holders := map[string][]string{} // modules by licence text
	var order []string
	for _, m := range modules {
		texts, err := licences(m.Dir)
		if err != nil {
			return file{}, fmt.Errorf("%s: %w", m.Path, err)
		}
		for _, text := range texts {
			if holders[text] == nil {
				order = append(order, text)
			}
			holders[text] = append(holders[text], m.Path+" "+m.Version)
		}
	}
	var out strings.Builder
	out.WriteString(preamble)
	for _, text := range order {
		fmt.Fprintf(&out, "\n%s\n\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(holders[text], "\n"), text)
	}
	return file{"NOTICES", out.String()}, nil
}

const preamble = `The binary of Sluice contains the software below, each under its own licence.

It also contains, by way of the DuckDB bindings, the DuckDB library (MIT, Copyright 2018-2026 Stichting DuckDB
Foundation) with the third-party code that DuckDB bundles, and, linked by the C++ compiler, the GNU C++ library (GPL
version 3 with the GCC Runtime Library Exception). The binary in the container image is linked statically with the GNU C
library (LGPL version 2.1 or later); it can be linked anew with another one from the sources of this repository with
"make image".
`

// linked returns the modules that cmd/processor is built from, sorted, without our own.
func linked(root string) ([]module, error) {
	list := exec.Command("go", "list", "-deps", "-json=Module", "./cmd/processor")
	list.Dir = root
	list.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64")
	var problems bytes.Buffer
	list.Stderr = &problems
	text, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, &problems)
	}
	seen := map[string]module{}
	in := json.NewDecoder(bytes.NewReader(text))
	for {
		var pkg struct{ Module *module }
		if err := in.Decode(&pkg); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if pkg.Module != nil && !pkg.Module.Main {
			seen[pkg.Module.Path] = *pkg.Module
		}
	}
	var out []module
	for _, m := range seen {
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b module) int { return cmp.Compare(a.Path, b.Path) })
	return out, nil
}

var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice)(\.(txt|md|rst|[a-z0-9-]+))?$|^(licen[cs]e)[-_].*$`)

// licences returns the texts of the licence and notice files at the top of a module.
func licences(dir string) (texts []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.IsDir() || !licenceFile.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		texts = append(texts, strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n")))
	}
	if len(texts) == 0 {
		return nil, errors.New("no licence was found: look for it by hand")
	}
	return texts, nil
}
