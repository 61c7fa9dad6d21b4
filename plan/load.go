package plan

import (
	"slices"

	"sluice/catalog"
	"sluice/fault"
)

// Load reads the spec file at path (or in the folder of that name) and the definition files it names, and plans the
// pipeline. It opens nothing else. On problems the pipeline is nil and the list has all of them, sorted by position.
func Load(path string, o catalog.Overrides, c catalog.Connectors) (*Pipeline, fault.List) {
	spec, problems := catalog.ReadSpec(path, o)
	if spec == nil {
		return nil, problems
	}
	files, errs := spec.Files()
	return text(spec, files, append(problems, errs...), len(errs) > 0 || !spec.Complete, c)
}

// Text plans a pipeline whose files have been read.
func Text(spec *catalog.Spec, files []catalog.File, c catalog.Connectors) (*Pipeline, fault.List) {
	return text(spec, files, nil, false, c)
}

// text plans what could be read. earlier are the problems met before, partial says that files are missing because of them.
func text(spec *catalog.Spec, files []catalog.File, earlier fault.List, partial bool, c catalog.Connectors) (*Pipeline, fault.List) {
	statements, errs := spec.Parse(files)
	cat := catalog.Build(spec, statements, partial || len(errs) > 0, c)
	cat.Problems = slices.Concat(earlier, errs, cat.Problems)
	return Build(cat)
}

// tidy sorts problems by position and drops repetitions: an expectation is compiled for every flow of its table, and a
// broken value of configuration is met wherever it is used.
func tidy(list fault.List) fault.List {
	seen := map[string]bool{}
	out := list[:0:0]
	for _, e := range list {
		if text := e.Error(); !seen[text] {
			seen[text] = true
			out = append(out, e)
		}
	}
	out.Sort()
	return out
}
