package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sluice/admin"
	"sluice/daemon"
	"sluice/fault"
	"sluice/state"
)

// mend does something about records in quarantine, in the running daemon or in the stopped store.
func (a *app) mend(ctx context.Context, w *chosen, m admin.Mending) (n int, stopped bool, err error) {
	p, err := a.load()
	if err != nil {
		return 0, false, err
	}
	m.Flow, m.Split, m.SplitID, m.Code = w.flow, w.split, w.id, w.code
	if w.at != nil {
		m.Offset, m.Index = &w.at.At, w.at.Index
	}
	client, store, err := reach(p)
	if err != nil {
		return 0, false, err
	}
	if client != nil {
		names, err := liveQuarantines(ctx, client)
		if err == nil && w.table != "" {
			m.Tables, err = tablesMeant(names, w.table)
		}
		if err != nil {
			return 0, false, err
		}
		n, err = client.Mend(ctx, m)
		return n, false, err
	}
	if err := store.Close(); err != nil {
		return 0, true, err
	}
	if store, err = state.Open(state.Options{Dir: p.Storage, Pipeline: p.Name}); err != nil {
		return 0, true, err
	}
	defer func() { err = cmp.Or(err, store.Close()) }()
	if w.table != "" {
		names, err := storedQuarantines(store)
		if err == nil {
			m.Tables, err = tablesMeant(names, w.table)
		}
		if err != nil {
			return 0, true, err
		}
	}
	n, err = daemon.MendStored(p, store, m)
	return n, true, err
}

func (a *app) dlqEditCmd() *cobra.Command {
	var w chosen
	var how editing
	c := &cobra.Command{
		Use:   "edit RECORD",
		Short: "Set what is read instead of a record in quarantine when it is replayed; with no flag in $EDITOR",
		Args:  exactArgs(1, "a record, as dlq list names it"),
		RunE: func(c *cobra.Command, args []string) error {
			t, err := a.quarantinedOne(c.Context(), &w, args[0])
			if err != nil {
				return err
			}
			m := admin.Mending{Action: "edit"}
			if m.Key, m.Value, err = how.of(c, t.row(0)); err != nil {
				return err
			}
			if m.Key == nil && m.Value == nil {
				fmt.Fprintln(a.out, "nothing was changed")
				return nil
			}
			var flow string
			if err := json.Unmarshal(t.row(0)["flow"], &flow); err != nil {
				return err
			}
			w.flow = flow
			if _, _, err = a.mend(c.Context(), &w, m); err != nil {
				return err
			}
			fmt.Fprintf(a.out, "record %s is edited; `processor dlq replay %[1]s` has flow %s read it\n", args[0], flow)
			return nil
		},
	}
	w.exact(c)
	how.flags(c)
	return c
}

// editing says how a record is edited.
type editing struct {
	value, file, key string
	fields           []string
}

func (e *editing) flags(c *cobra.Command) {
	c.Flags().StringVar(&e.value, "value", "", "the value")
	c.Flags().StringVar(&e.file, "value-file", "", "the file that has the value, - for standard input")
	c.Flags().StringArrayVar(&e.fields, "field", nil, "NAME=VALUE: set one member of a JSON object to a value, which is JSON or else a text; may be repeated")
	c.Flags().StringVar(&e.key, "key", "", "the key")
	c.MarkFlagsMutuallyExclusive("value", "value-file", "field")
}

// of returns the key and the value that are set; nil is as it was.
func (e *editing) of(c *cobra.Command, record map[string]jsonCell) (key, value []byte, err error) {
	if c.Flags().Changed("key") {
		key = []byte(e.key)
	}
	switch {
	case c.Flags().Changed("value"):
		return key, []byte(e.value), nil
	case e.file == "-":
		value, err = io.ReadAll(c.InOrStdin())
		return key, present(value), err
	case e.file != "":
		value, err = os.ReadFile(e.file)
		return key, present(value), err
	}
	var now []byte
	if cell := latest(record, "value"); cell != nil {
		if err := json.Unmarshal(cell, &now); err != nil {
			return nil, nil, err
		}
	}
	if e.fields != nil {
		for _, field := range e.fields {
			if now, err = setMember(now, field); err != nil {
				return nil, nil, err
			}
		}
		return key, now, nil
	}
	if key != nil {
		return key, nil, nil
	}
	value, err = inEditor(c, now)
	if bytes.Equal(value, now) {
		value = nil
	}
	return nil, value, err
}

// present makes bytes that are there but empty differ from none.
func present(b []byte) []byte { return append([]byte{}, b...) }

// latest is a cell as it was edited, if it was.
func latest(record map[string]jsonCell, name string) jsonCell {
	if edited := record["edited_"+name]; edited != nil {
		return edited
	}
	return record[name]
}

// setMember sets the member of a JSON object that a source would read for a name, or adds it, and leaves every other byte as it is (D-9): the one
// of exactly that name, else the only one that differs from it in case alone.
func setMember(object []byte, field string) ([]byte, error) {
	name, text, ok := strings.Cut(field, "=")
	if !ok || name == "" {
		return nil, usage{fmt.Errorf("--field takes NAME=VALUE, not %q", field)}
	}
	value := []byte(text)
	if !json.Valid(value) {
		var err error
		if value, err = json.Marshal(text); err != nil {
			return nil, err
		}
	}
	members, end, ok := membersOf(object)
	if !ok {
		return nil, fault.New(fault.BadRequest, "the value is no JSON object of which a field can be set").WithHint("give the whole value with --value or --value-file")
	}
	called := func(match func(string) bool) []member {
		return slices.DeleteFunc(slices.Clone(members), func(m member) bool { return !match(m.name) })
	}
	meant := called(func(s string) bool { return s == name })
	if len(meant) == 0 {
		meant = called(func(s string) bool { return strings.EqualFold(s, name) })
	}
	switch len(meant) {
	case 0:
		quoted, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		comma := ""
		if len(members) > 0 {
			comma = ","
		}
		return bytes.Join([][]byte{object[:end], []byte(comma), quoted, []byte(":"), value, object[end:]}, nil), nil
	case 1:
		return bytes.Join([][]byte{object[:meant[0].from], value, object[meant[0].to:]}, nil), nil
	}
	return nil, fault.New(fault.BadRequest, "the value has %d fields that are called %s", len(meant), name).WithHint("give the whole value with --value or --value-file")
}

// member is a member of a JSON object, and where its value stands.
type member struct {
	name     string
	from, to int64
}

// membersOf are the members of a JSON object, and where the last one ends; ok is false for what is no object.
func membersOf(object []byte) (members []member, end int64, ok bool) {
	in := json.NewDecoder(bytes.NewReader(object))
	if first, err := in.Token(); err != nil || first != json.Delim('{') {
		return nil, 0, false
	}
	for in.More() {
		name, err := in.Token()
		var value json.RawMessage
		if err == nil {
			err = in.Decode(&value)
		}
		if err != nil {
			return nil, 0, false
		}
		to := in.InputOffset()
		members = append(members, member{name.(string), to - int64(len(value)), to})
	}
	end = in.InputOffset()
	_, err := in.Token()
	return members, end, err == nil
}

// inEditor lets somebody edit bytes in the program that VISUAL or EDITOR names.
func inEditor(c *cobra.Command, now []byte) (_ []byte, err error) {
	program := cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR"))
	if program == "" {
		return nil, usage{errors.New("dlq edit takes --value, --value-file, --field or --key, or an editor named by EDITOR")}
	}
	file, err := os.CreateTemp("", "sluice-record-*")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.Remove(file.Name())) }()
	_, err = file.Write(now)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	words := append(strings.Fields(program), file.Name())
	editor := exec.CommandContext(c.Context(), words[0], words[1:]...)
	editor.Stdin, editor.Stdout, editor.Stderr = c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr()
	if err := editor.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	value, err := os.ReadFile(file.Name())
	if !bytes.HasSuffix(now, []byte("\n")) {
		value = bytes.TrimSuffix(value, []byte("\n")) // which editors add
	}
	return value, err
}

func (a *app) dlqReplayCmd() *cobra.Command {
	return a.mendCmd("replay", "Have flows read records in quarantine again, as they were edited", func(n int, stopped bool) string {
		if stopped {
			return fmt.Sprintf("%s will be replayed by the next run", count(n))
		}
		return fmt.Sprintf("%s on the way; `processor dlq list` shows what is refused again", count(n))
	})
}

func (a *app) dlqForgetCmd() *cobra.Command {
	return a.mendCmd("forget", "Drop records from quarantine, with their edits", func(n int, _ bool) string { return count(n) + " forgotten" })
}

func count(n int) string {
	if n == 1 {
		return "1 record"
	}
	return fmt.Sprintf("%d records", n)
}

// mendCmd is a verb over records that are named, or that flags choose.
func (a *app) mendCmd(action, short string, say func(n int, stopped bool) string) *cobra.Command {
	var w chosen
	all := false
	c := &cobra.Command{
		Use:   action + " [RECORD ...]",
		Short: short,
		Args:  cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if filtered := w.flow != "" || w.split != "" || w.code != "" || w.table != "" || w.id != ""; len(args) == 0 && !filtered && !all {
				return usage{fmt.Errorf("dlq %s takes records, or flags that choose some, or --all", action)}
			}
			choices := []chosen{w}
			if len(args) > 0 {
				choices = nil
			}
			for _, name := range args {
				one := w
				if err := recordAt(name, &one); err != nil {
					return err
				}
				choices = append(choices, one)
			}
			n, stopped := 0, false
			for i := range choices {
				some, off, err := a.mend(c.Context(), &choices[i], admin.Mending{Action: action})
				n, stopped = n+some, off
				if err != nil {
					return err
				}
			}
			fmt.Fprintln(a.out, say(n, stopped))
			return nil
		},
	}
	w.flags(c)
	c.Flags().StringVar(&w.table, "table", "", "records for this table or sink alone")
	c.Flags().StringVar(&w.id, "split-id", "", "the topic id, where a topic of that name was made anew")
	c.Flags().BoolVar(&all, "all", false, "all records in quarantine")
	return c
}
