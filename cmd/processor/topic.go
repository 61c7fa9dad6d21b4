package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"sluice/catalog"
	"sluice/internal/broker"
	"sluice/internal/broker/topic"
	"sluice/option"
)

// defaultBroker is where the embedded broker of `make run` listens.
const defaultBroker = "127.0.0.1:19092"

func (a *app) brokerCmd() *cobra.Command {
	var o broker.Options
	c := &cobra.Command{
		Use:   "broker",
		Short: "Run the embedded Kafka-compatible broker alone (for trials and tests, not for production)",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			b, err := broker.Start(o)
			if err != nil {
				return err
			}
			defer b.Close()
			fmt.Fprintf(a.out, "listening on %s\n", b.Brokers()[0])
			<-c.Context().Done()
			return nil
		},
	}
	c.Flags().StringVar(&o.Listen, "listen", defaultBroker, "address to listen on")
	c.Flags().StringVar(&o.DataDir, "data", "", "folder to keep topics in (default: memory)")
	return c
}

func (a *app) topicCmd() *cobra.Command {
	var brokers []string
	c := &cobra.Command{
		Use:   "topic",
		Short: "Write, read and list topics, for a first try",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.PersistentFlags().StringSliceVar(&brokers, "brokers", nil, "addresses of the cluster (default: kafka.bootstrap.servers of --set or of the pipeline, else "+defaultBroker+")")
	c.PersistentPreRunE = func(*cobra.Command, []string) (err error) {
		if err = a.check(); err == nil && len(brokers) == 0 {
			brokers, err = a.brokers()
		}
		return err
	}

	var put topic.PutOptions
	putCmd := &cobra.Command{
		Use:   "put TOPIC [FILE]",
		Short: "Write each line of a file, or of standard input, as a record",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return usage{fmt.Errorf("%s takes a topic and a file", c.CommandPath())}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			var in io.Reader = a.in
			if len(args) == 2 {
				f, err := os.Open(args[1])
				if err != nil {
					return err
				}
				defer f.Close()
				in = f
			}
			n, err := topic.Put(c.Context(), brokers, args[0], in, put)
			if err != nil {
				return err
			}
			fmt.Fprintf(a.err, "%d records written to %s\n", n, args[0])
			return nil
		},
	}
	putCmd.Flags().StringVar(&put.Key, "key", "", "member of each document that becomes the record key")
	putCmd.Flags().Int32Var(&put.Create, "create", 0, "create the topic with so many partitions if it does not exist")
	putCmd.Flags().BoolVar(&put.IfEmpty, "if-empty", false, "write nothing to a topic that has had records")

	var cat topic.CatOptions
	catCmd := &cobra.Command{
		Use:   "cat TOPIC",
		Short: "Print the committed records of a topic",
		Args:  exactArgs(1, "a topic"),
		RunE: func(c *cobra.Command, args []string) error {
			return topic.Cat(c.Context(), brokers, args[0], a.out, cat)
		},
	}
	catCmd.Flags().BoolVar(&cat.Records, "records", false, "print whole records as JSON lines, not values alone")
	catCmd.Flags().BoolVarP(&cat.Follow, "follow", "f", false, "go on when the end is reached")
	catCmd.Flags().IntVarP(&cat.Limit, "limit", "n", 0, "print at most so many records")

	lsCmd := &cobra.Command{
		Use:   "ls",
		Short: "List topics",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			topics, err := topic.List(c.Context(), brokers)
			if err != nil {
				return err
			}
			t := table{columns: []string{"topic", "partitions", "records", "id"}}
			for _, i := range topics {
				t.rows = append(t.rows, []jsonCell{cell(i.Name), cell(i.Partitions), cell(i.Records), cell(i.ID)})
			}
			return a.print(t)
		},
	}
	c.AddCommand(putCmd, catCmd, lsCmd)
	return c
}

// brokers returns the addresses of the pipeline's cluster. There need be no pipeline: then --set alone names them, or they
// are those of the embedded broker.
func (a *app) brokers() ([]string, error) {
	overrides, err := a.overrides()
	if err != nil {
		return nil, err
	}
	servers := overrides.Set[bootstrapServers]
	path, err := a.findSpec()
	switch {
	case err == nil:
		spec, problems := catalog.ReadSpec(path, overrides)
		if err := problems.Err(); err != nil {
			return nil, err
		}
		a.mask = option.NewMask(spec.SecretServers()...)
		servers = spec.Servers()
	case a.spec != "":
		return nil, err
	}
	var out []string
	for server := range strings.SplitSeq(servers, ",") {
		if server = strings.TrimSpace(server); server != "" {
			out = append(out, server)
		}
	}
	if len(out) == 0 {
		out = []string{defaultBroker}
	}
	return out, nil
}

// bootstrapServers is the setting that names the brokers of a pipeline.
const bootstrapServers = "kafka.bootstrap.servers"
