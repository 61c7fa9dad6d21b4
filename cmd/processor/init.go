package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/spf13/cobra"
)

var projectName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// The first pipeline of a new project: it runs as it is, without Kafka.
const (
	initSpec = `name: %s
storage: state
libraries:
  - glob: {include: transformations/**}
continuous: false
`
	initSQL = `-- The newest state of every order, whatever the order of arrival.
CREATE OR REFRESH STREAMING TABLE orders (
  CONSTRAINT known_id EXPECT (id IS NOT NULL) ON VIOLATION DROP ROW
) FLOW REPLACE USING (id) SEQUENCE BY version BY NAME
  SELECT id, version, status
  FROM STREAM read_files('data/*.json', format => 'json', schema => 'id BIGINT, version BIGINT, status STRING');
`
	initData = `{"id": 1, "version": 1, "status": "NEW"}
{"id": 2, "version": 1, "status": "NEW"}
{"id": 1, "version": 3, "status": "SHIPPED"}
{"id": 1, "version": 2, "status": "PAID"}
`
	initTest = `# processor test: in this order, then in batches of other sizes, read again and with crashes in between.
files:
  data/*.json: # stands in for those files
    lines:
      - {id: 1, version: 2, status: PAID}
      - {id: 1, version: 1, status: NEW} # late
      - {id: null, version: 1, status: NEW}
expect:
  tables:
    orders:
      - {id: 1, status: PAID}
`
)

func (a *app) initCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "init NAME",
		Short: "Make a folder with a pipeline that runs",
		Args:  exactArgs(1, "a name"),
		RunE: func(_ *cobra.Command, args []string) error {
			name := args[0]
			if !projectName.MatchString(name) {
				return usage{fmt.Errorf("a name has letters, digits, _ and - only, not %q", name)}
			}
			if _, err := os.Stat(name); err == nil {
				return fmt.Errorf("%s exists already", name)
			}
			for path, text := range map[string]string{
				"pipeline.yml":               fmt.Sprintf(initSpec, name),
				"transformations/orders.sql": initSQL,
				"data/orders.json":           initData,
				"tests/newest.yml":           initTest,
			} {
				path = filepath.Join(name, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					return err
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					return err
				}
			}
			fmt.Fprintf(a.out, "made %s; try:\n  cd %s\n  processor test\n  processor run\n  processor query \"SELECT * FROM orders\"\n", name, name)
			return nil
		},
	}
}
