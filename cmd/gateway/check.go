package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/chainaccess/gateway/internal/config"
)

func checkCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE",
		Short: "Check an upstreams file and report mistakes by line",
		Long: `gateway check reads an upstreams file as serve and worker do and reports every mistake with its
line and column, without quoting addresses or header values. Variables that the file names must be set. The exit
code is 0 when the file can be used and 1 otherwise. Notes point to settings that are allowed but may be unintended.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return checkFile(cmd.OutOrStdout(), args[0]) },
	}
}

func checkFile(out io.Writer, path string) error {
	report, err := config.CheckUpstreams(path)
	if err != nil {
		return err
	}
	tellMistakes(out, path, "", report.Mistakes)
	tellMistakes(out, path, "note: ", report.Notes)
	switch n := len(report.Mistakes); n {
	case 0:
	case 1:
		return errors.New("the upstreams file has a mistake")
	default:
		return fmt.Errorf("the upstreams file has %d mistakes", n)
	}
	upstreams := 0
	for _, c := range report.Upstreams.Chains {
		upstreams += len(c.Upstreams)
	}
	fmt.Fprintf(out, "%s: no mistakes; chains: %d, upstreams: %d\n", path, len(report.Upstreams.Chains), upstreams)
	return nil
}

// tellMistakes writes mistakes as path:line:column, which editors can follow.
func tellMistakes(out io.Writer, path, kind string, list []config.Mistake) {
	for _, m := range list {
		place := path
		if m.Line > 0 {
			place = fmt.Sprintf("%s:%d:%d", path, m.Line, m.Column)
			m.Line = 0 // it is in place
		}
		fmt.Fprintf(out, "%s: %s%s\n", place, kind, m.String())
	}
}
