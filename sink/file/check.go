package file

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Check looks whether files can be written to the folder, or a folder be made in the nearest one that exists, as dry-run
// --connect does. It makes nothing.
func (s *Sink) Check(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	at := s.folder
	info, err := os.Stat(at)
	for ; errors.Is(err, fs.ErrNotExist) && at != filepath.Dir(at); info, err = os.Stat(at) {
		at = filepath.Dir(at)
	}
	switch {
	case err != nil:
		return s.failed(err)
	case !info.IsDir():
		return s.failed(&fs.PathError{Op: "stat", Path: at, Err: syscall.ENOTDIR})
	}
	const write, search = 2, 1
	if err := syscall.Access(at, write|search); err != nil {
		return s.failed(&fs.PathError{Op: "access", Path: at, Err: err})
	}
	return nil
}
