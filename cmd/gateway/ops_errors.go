package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/chainaccess/gateway/cmd/internal/operator"
)

func errorsCommand(on *string) *cobra.Command {
	var asJSON, forget bool
	cmd := &cobra.Command{
		Use:   "errors",
		Short: "List errors of upstreams that no rule knows",
		Long: `gateway ops upstreams errors lists the errors that no rule knows, as all API processes counted them in the
last seven days, the most frequent first. Errors that differ only in numbers, hashes and quoted names are one line.

A read that gets such an error is asked of one more upstream: if both agree, it is the node's own answer. Add a rule to
errors: in the upstreams file to decide it at once, then reload. docs/operations/errors.md explains how.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, providers, err := setUpOps()
			if err != nil {
				return err
			}
			all, err := operator.UnknownErrors(cmd.Context(), cfg, providers, *on, forget)
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), all)
			}
			return writeUnknownErrors(cmd.OutOrStdout(), all)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON, for programs")
	cmd.Flags().BoolVar(&forget, "forget", false, "delete what is listed, for example after rules were added")
	return cmd
}

func writeUnknownErrors(out io.Writer, all []operator.ChainErrors) error {
	table, n := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0), 0
	fmt.Fprintln(table, "CHAIN\tUPSTREAM\tCOUNT\tLAST\tMETHOD\tCODE\tMESSAGE")
	for _, c := range all {
		for _, e := range c.Errors {
			n++
			fmt.Fprintln(table, strings.Join([]string{
				string(c.Chain), e.Upstream, strconv.FormatInt(e.Count, 10), e.Last.Format(time.DateTime), e.Method,
				strconv.Itoa(e.Code), strconv.QuoteToGraphic(e.Message),
			}, "\t"))
		}
	}
	if n == 0 {
		_, err := fmt.Fprintln(out, "no unknown errors in the last seven days")
		return err
	}
	return table.Flush()
}
