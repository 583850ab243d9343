package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/chainaccess/gateway/cmd/internal/operator"
	"github.com/chainaccess/gateway/cmd/internal/wire"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/metering/audit"
	"github.com/chainaccess/gateway/metering/plan"
)

// unproven is the exit code of an audit that could not be completed, as opposed to 1 for books that
// differ.
const unproven = 2

// maxListed bounds the differences in JSON, which are held in memory until the end; the summary
// counts all.
const maxListed = 10_000

func opsAuditCommand() *cobra.Command {
	var id, period string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Prove that the books of usage balance",
		Long: `gateway ops audit proves, for every account and period of usage, that
  lines         refunds alone are negative, and never positive; cache hits and refusals cost nothing
  refunds       no more was refunded than was charged
  requests      all requests = billable + cache hits + refusals
  sources       units by key, chain and class = units by source
  packs         granted = remaining + used + expired
  double entry  the totals of a period = the sum of its hours
  statements    statement of a closed period + adjustments = its usage
  calls         every recorded and charged call of the last day is in the usage
  counters      flushed + unflushed usage = the meter's counters, for the current fences
  accounts      all usage belongs to a known account
  settled       what a pay-per-call payment bought = what its account was granted

It also lists charges of the last day that have no call record, by account, key and hour. These are not differences:
a process that is killed loses its last records. It reports the first difference per account and period. It is
read-only and can run at any time, also under load.

Exit codes: 0 when all is balanced, 1 when something differs, 2 when not everything could be read and nothing is
proven.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := cobra.NoArgs(cmd, args); err != nil {
				return coded{err, unproven}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := auditOptions(id, period)
			if err != nil {
				return coded{err, unproven}
			}
			o.Progress = func(s audit.Summary) { fmt.Fprintln(cmd.ErrOrStderr(), "so far:", summary(s)) }
			return runAudit(cmd, o, asJSON)
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return coded{err, unproven} })
	cmd.Flags().StringVar(&id, "account", "", "only this account, by its id")
	cmd.Flags().StringVar(&period, "period", "", "only periods that began on this date, like 2026-11-01")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON, for programs")
	return cmd
}

// auditOptions parses which accounts and periods to audit.
func auditOptions(id, period string) (audit.Options, error) {
	o := audit.Options{Period: period}
	if id != "" {
		var err error
		if o.Account, err = account.ParseID(id); err != nil {
			return o, fmt.Errorf(
				"--account must be the id of an account, like 0198c5a2-7c1e-7b3f-9d21-3f0c5b7a9e11, not %q",
				shortened(id))
		}
	}
	if period != "" {
		if start, err := time.Parse(time.DateOnly, period); err != nil || start.Year() < 1 {
			return o, fmt.Errorf("--period must be the date on which a period began, like 2026-11-01, not %q",
				shortened(period))
		}
	}
	return o, nil
}

// shortened truncates input that an error message quotes.
func shortened(text string) string {
	const maxRunes = 64
	if r := []rune(text); len(r) > maxRunes {
		return string(r[:maxRunes]) + "…"
	}
	return text
}

func runAudit(cmd *cobra.Command, o audit.Options, asJSON bool) error {
	wire.LogRedis(quiet)
	cfg, err := config.FromEnvironment(config.OpsRecord)
	if err != nil {
		return coded{err, unproven}
	}
	out := cmd.OutOrStdout()
	result := auditResult{Differences: []audit.Difference{}, Unrecorded: []audit.UnrecordedCharges{}}
	tell := func(d audit.Difference) { fmt.Fprintln(out, d) }
	if asJSON {
		tell = func(d audit.Difference) {
			if len(result.Differences) < maxListed {
				result.Differences = append(result.Differences, d)
			}
		}
	}
	o.Unrecorded = func(u audit.UnrecordedCharges) { fmt.Fprintln(out, u) }
	if asJSON {
		o.Unrecorded = func(u audit.UnrecordedCharges) {
			if len(result.Unrecorded) < maxListed {
				result.Unrecorded = append(result.Unrecorded, u)
			}
		}
	}
	result.Summary, err = operator.Audit(cmd.Context(), cfg, o, tell)
	if err != nil {
		return coded{err, unproven}
	}
	result.Balanced = result.Summary.Differences == 0
	if err := writeAudit(out, &result, asJSON); err != nil {
		return coded{err, unproven}
	}
	if !result.Balanced {
		return errors.New("the books do not balance; docs/operations/runbooks.md says what to do")
	}
	return nil
}

// auditResult is what --json writes.
type auditResult struct {
	Balanced    bool               `json:"balanced"`
	Summary     audit.Summary      `json:"summary"`
	Differences []audit.Difference `json:"differences"`
	// Unrecorded lists charges without a call record, which are not differences.
	Unrecorded []audit.UnrecordedCharges `json:"unrecorded"`
}

func writeAudit(out io.Writer, r *auditResult, asJSON bool) error {
	if asJSON {
		return writeJSON(out, r)
	}
	verdict := "balanced"
	if !r.Balanced {
		verdict = fmt.Sprintf("%s not balanced", counted(r.Summary.Differences, "period"))
	}
	_, err := fmt.Fprintf(out, "%s: %s\n", verdict, summary(r.Summary))
	return err
}

func summary(s audit.Summary) string {
	text := fmt.Sprintf("%s, %s, %s, %s, %s", counted(s.Accounts, "account"), counted(s.Periods, "period"),
		counted(s.Packs, "pack"), counted(s.Counters, "counter"), counted(s.Differences, "difference"))
	if s.Unrecorded > 0 {
		text += ", " + counted(s.Unrecorded, "charge") + " without a record of the call"
	}
	if s.LostCalls > 0 {
		text += ", " + counted(s.LostCalls, "lost call") + " to be refunded"
	}
	return text
}

// counted formats a count with its noun.
func counted(n int, thing string) string {
	number := plan.Group(fmt.Sprint(n))
	if n == 1 {
		return number + " " + thing
	}
	return number + " " + thing + "s"
}
