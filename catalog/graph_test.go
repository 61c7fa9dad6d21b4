package catalog_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sluice/catalog"
	"sluice/catalog/catalogtest"
	"sluice/fault"
)

// pipelineOf writes a pipeline of n flows and as many tables: flow i writes table writes[i], reads table reads[i] (a topic
// when that is -1) and depends on depends[i].
func pipelineOf(writes, reads []int, depends [][]int) string {
	var b strings.Builder
	declared := map[int]bool{}
	for i := range writes {
		for _, t := range []int{writes[i], reads[i]} {
			if t >= 0 && !declared[t] {
				declared[t] = true
				fmt.Fprintf(&b, "CREATE STREAMING TABLE t%d;\n", t)
			}
		}
		fmt.Fprintf(&b, "CREATE FLOW f%d DEPENDS ON (", i)
		for j, d := range depends[i] {
			if j > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "f%d", d)
		}
		from := "read_kafka(subscribe => 'a')"
		if reads[i] >= 0 {
			from = fmt.Sprintf("t%d", reads[i])
		}
		fmt.Fprintf(&b, ") AS INSERT INTO t%d SELECT * FROM STREAM %s;\n", writes[i], from)
	}
	return b.String()
}

// waits[i][j] says that flow i waits for flow j, directly or over others.
func closure(writes, reads []int, depends [][]int) [][]bool {
	n := len(writes)
	waits := make([][]bool, n)
	for i := range n {
		waits[i] = make([]bool, n)
		for _, d := range depends[i] {
			waits[i][d] = true
		}
		for j := range n {
			waits[i][j] = waits[i][j] || reads[i] >= 0 && writes[j] == reads[i]
		}
	}
	for k := range n {
		for i := range n {
			for j := range n {
				waits[i][j] = waits[i][j] || waits[i][k] && waits[k][j]
			}
		}
	}
	return waits
}

// PT-08 as far as the graph goes, DO-09, DO-O2: a graph with a cycle is always refused, each reported path is one, every
// flow on a cycle is on a reported path or shares one; a graph without a cycle comes out in an order in which nobody
// stands before a flow it waits for.
func TestGraphs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "flows")
		writes, reads, depends := make([]int, n), make([]int, n), make([][]int, n)
		for i := range n {
			writes[i] = rapid.IntRange(0, n-1).Draw(t, "writes")
			reads[i] = rapid.IntRange(-n, n-1).Draw(t, "reads")
			depends[i] = rapid.SliceOfN(rapid.IntRange(0, n-1), 0, 2).Draw(t, "depends")
		}
		waits := closure(writes, reads, depends)
		cyclic := false
		for i := range n {
			cyclic = cyclic || waits[i][i]
		}
		s, problems := catalog.ParseSpec("pipeline.yml", "name: p\nstorage: s\nlibraries: [{glob: {include: a.sql}}]\nconfiguration: {kafka.bootstrap.servers: b}", catalog.Overrides{})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		text := pipelineOf(writes, reads, depends)
		statements, problems := s.Parse([]catalog.File{{Name: "a.sql", Text: text}})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		c := catalog.Build(s, statements, false, catalogtest.Connectors())
		found := false
		for _, e := range c.Problems {
			if e.Code != fault.DependsCycle && e.Code != fault.DataCycle {
				continue
			}
			found = true
			_, path, _ := strings.Cut(e.Message, ": ")
			names := strings.Split(path, " -> ")
			if len(names) < 2 || names[0] != names[len(names)-1] {
				t.Fatalf("%s is no cycle\n%s", e, text)
			}
			for i := range names[1:] {
				var from, to int
				fmt.Sscanf(names[i], "f%d", &from)
				fmt.Sscanf(names[i+1], "f%d", &to)
				if !waits[from][to] {
					t.Fatalf("%s does not wait for %s\n%s", names[i], names[i+1], text)
				}
			}
		}
		if found != cyclic {
			t.Fatalf("cyclic %t, reported %t: %v\n%s", cyclic, found, c.Problems, text)
		}
		if cyclic {
			return
		}
		place := map[string]int{}
		for i, f := range c.Flows {
			place[f.Name] = i
		}
		for i := range n {
			for j := range n {
				if waits[i][j] && place[fmt.Sprintf("f%d", i)] < place[fmt.Sprintf("f%d", j)] {
					t.Fatalf("f%d stands before f%d\n%s", i, j, text)
				}
			}
		}
	})
}
