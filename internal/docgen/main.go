// Command docgen writes the generated parts of the documentation: the tables between
//
//	<!-- generated: NAME -->
//	<!-- end generated -->
//
// in docs/*.md, and NOTICES, the licences of everything that the binary contains. It is run from the root of the
// repository. With -check it changes nothing and fails when something is out of date.
//
// It promises that what it writes depends on the code and the module cache only. The text around the tables is written by
// people and left alone.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	check := flag.Bool("check", false, "change nothing, fail when something is out of date")
	flag.Parse()
	stale, err := run(".", *check)
	if err != nil {
		fmt.Fprintln(os.Stderr, "docgen:", err)
		os.Exit(1)
	}
	for _, name := range stale {
		if *check {
			fmt.Fprintf(os.Stderr, "docgen: %s is out of date: run make generate\n", name)
		} else {
			fmt.Println("docgen: wrote", name)
		}
	}
	if *check && len(stale) > 0 {
		os.Exit(1)
	}
}

// run returns the files under root that are out of date, and writes them unless check is set.
func run(root string, check bool) (stale []string, err error) {
	pages, err := pages(root)
	if err != nil {
		return nil, err
	}
	notices, err := notices(root)
	if err != nil {
		return nil, err
	}
	for _, f := range append(pages, notices) {
		old, err := os.ReadFile(root + "/" + f.name)
		if err != nil && !os.IsNotExist(err) {
			return nil, err
		}
		if string(old) == f.text {
			continue
		}
		stale = append(stale, f.name)
		if !check {
			if err := os.WriteFile(root+"/"+f.name, []byte(f.text), 0o644); err != nil {
				return nil, err
			}
		}
	}
	return stale, nil
}

// file is a file as it should be.
type file struct{ name, text string }
