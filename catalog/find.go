package catalog

import (
	"os"
	"path/filepath"

	"sluice/fault"
)

// SpecNames are the names a spec file may have (D-61).
var SpecNames = []string{"pipeline.yml", "pipeline.yaml", "spark-pipeline.yml", "spark-pipeline.yaml"}

// FindSpec looks for the spec file in dir, then in the folder above it, and so on (CL-05). The path it returns is relative
// when dir is, so that messages name files as the user would.
func FindSpec(dir string) (string, *fault.Error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fault.New(fault.SpecFileNotFound, "no folder %s", dir).Because(err)
	}
	for at := dir; ; at = filepath.Join(at, "..") {
		found, problem := specIn(at)
		if found != "" || problem != nil {
			return found, problem
		}
		if parent := filepath.Dir(abs); parent == abs {
			break
		} else {
			abs = parent
		}
	}
	return "", fault.New(fault.SpecFileNotFound, "no pipeline.yml in %s or a folder above it", dir).
		WithHint("make one with `processor init NAME`, or name one with --spec")
}

// NamedSpec returns the spec file at path: the file itself, or the one in the folder of that name.
func NamedSpec(path string) (string, *fault.Error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fault.New(fault.SpecFileDoesNotExist, "no spec file %s", path).Because(err)
	}
	if !info.IsDir() {
		return path, nil
	}
	found, problem := specIn(path)
	if found == "" && problem == nil {
		problem = fault.New(fault.SpecFileDoesNotExist, "the folder %s has no pipeline.yml", path)
	}
	return found, problem
}

// specIn returns the one spec file of a folder, or "" when there is none.
func specIn(dir string) (string, *fault.Error) {
	found := ""
	for _, name := range SpecNames {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err != nil || info.IsDir() {
			continue
		}
		if found != "" {
			return "", fault.New(fault.SpecFilesFound, "%s and %s stand side by side", found, path).
				WithHint("remove one of them, or choose with --spec")
		}
		found = path
	}
	return found, nil
}
