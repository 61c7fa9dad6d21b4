package file

import (
	"context"
	"os"

	"sluice/fault"
)

// Check looks whether there are files and whether each can be opened, as dry-run --connect does. It reads none. The error is
// a fault.List where several cannot.
func (s *Source) Check(ctx context.Context) error {
	files, err := s.list()
	if err != nil {
		return err
	}
	var problems fault.List
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		file, err := os.Open(resolve(s.dir, f.path))
		if err != nil {
			problems = append(problems, unreadable(f.path, err).At(s.at))
			continue
		}
		_ = file.Close() // nothing was written
	}
	if len(problems) == 1 {
		return problems[0]
	}
	return problems.Err()
}
