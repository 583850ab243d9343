package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/chainaccess/gateway/cmd/internal/operator"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/payments/x402"
)

const (
	baseChainID   = 8453
	retryDeadline = 15 * time.Second
	maxSettlement = 1000
)

func opsSettlementsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "settlements",
		Short: "Show pay-per-call settlements, retry them, note refunds",
		Long: `gateway ops settlements shows pay-per-call settlements and their outcome, one per transaction and payer.
docs/operations/runbooks.md says what to do with one that is stuck or was reorganised.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(settlementsListCommand(), settlementShowCommand(), settlementRetryCommand(), refundNoteCommand())
	return cmd
}

// stages are the values of --stage.
var stages = []x402.Stage{
	x402.StageReading, x402.StagePending, x402.StageStuck, x402.StagePayable, x402.StageRefused, x402.StageRedeemed,
	x402.StageOver, x402.StageReorganised,
}

func settlementsListCommand() *cobra.Command {
	var stage string
	var stuck, asJSON bool
	var limit int
	cmd := &cobra.Command{
		Use: "list [--stage STAGE | --stuck]", Short: "List settlements, newest change first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if stuck && stage != "" {
				return errors.New("--stuck is the same as --stage stuck: give only one of them")
			}
			if stuck {
				stage = string(x402.StageStuck)
			}
			if err := knownStage(stage); err != nil {
				return err
			}
			if limit < 1 || limit > maxSettlement {
				return fmt.Errorf("--limit takes 1 to %d", maxSettlement)
			}
			cfg, err := config.FromEnvironment(config.OpsPaid)
			if err != nil {
				return err
			}
			all, err := operator.Settlements(cmd.Context(), cfg, x402.Stage(stage), limit)
			switch {
			case err != nil:
				return err
			case asJSON:
				return writeJSON(cmd.OutOrStdout(), append([]operator.SettlementView{}, all...))
			default:
				return writeSettlements(cmd.OutOrStdout(), all, limit)
			}
		},
	}
	cmd.Flags().StringVar(&stage, "stage", "", "only this stage: "+stageNames())
	cmd.Flags().BoolVar(&stuck, "stuck", false, "only settlements that wait because the chain cannot be read")
	cmd.Flags().IntVar(&limit, "limit", 100, "how many")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON, for programs")
	return cmd
}

func knownStage(stage string) error {
	for _, s := range stages {
		if stage == "" || stage == string(s) {
			return nil
		}
	}
	return fmt.Errorf("--stage: there is no stage %q: choose from %s", shortened(stage), stageNames())
}

func stageNames() string {
	var names []string
	for _, s := range stages {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}

// which selects the settlement that a command is about.
type which struct {
	chainID uint64
	payer   string
}

func (w *which) flags(cmd *cobra.Command) {
	cmd.Flags().Uint64Var(&w.chainID, "chain-id", baseChainID, "EIP-155 id of the chain that was paid on")
	cmd.Flags().StringVar(&w.payer, "payer", "", "the paying wallet, if several paid in the transaction")
}

func (w *which) read(hash string) (x402.TxHash, wallet.Address, error) {
	tx, ok := x402.ParseTxHash(hash)
	if !ok {
		return x402.TxHash{}, wallet.Address{},
			fmt.Errorf("a transaction hash is 0x and 64 hexadecimal digits, not %q", shortened(hash))
	}
	if w.payer == "" {
		return tx, wallet.Address{}, nil
	}
	payer, err := wallet.ParseAddress(w.payer)
	if err != nil {
		return tx, payer, fmt.Errorf("--payer takes an address of 0x and 40 hexadecimal digits, not %q",
			shortened(w.payer))
	}
	return tx, payer, nil
}

func settlementShowCommand() *cobra.Command {
	var w which
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show TX", Short: "Show the settlements of a transaction with their history",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			tx, payer, err := w.read(args[0])
			if err != nil {
				return err
			}
			cfg, err := config.FromEnvironment(config.OpsPaid)
			if err != nil {
				return err
			}
			all, err := operator.Settlement(cmd.Context(), cfg, w.chainID, tx, payer)
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), all)
			}
			for i := range all {
				if err := writeSettlement(cmd.OutOrStdout(), &all[i]); err != nil {
					return err
				}
			}
			return nil
		},
	}
	w.flags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON, for programs")
	return cmd
}

func settlementRetryCommand() *cobra.Command {
	var w which
	cmd := &cobra.Command{
		Use: "retry TX", Short: "Read the chain of a settlement now", Args: cobra.ExactArgs(1),
		Long: `gateway ops settlements retry makes the workflow of a settlement read the chain now, without
waiting for its backoff. A workflow that has ended is started again from the recorded state. It grants nothing by
itself: a valid payment becomes payable, and its wallet redeems it.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			tx, payer, err := w.read(args[0])
			if err != nil {
				return err
			}
			cfg, err := config.FromEnvironment(config.OpsFlows)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), retryDeadline)
			defer cancel()
			workflowID, err := operator.RetrySettlement(ctx, cfg, w.chainID, tx, payer)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(),
				"%s reads the chain now; see the result with gateway ops settlements show %s\n", workflowID, tx)
			return err
		},
	}
	w.flags(cmd)
	return cmd
}

func refundNoteCommand() *cobra.Command {
	var w which
	var reason string
	var again bool
	cmd := &cobra.Command{
		Use:   "refund-note TX --reason WHY",
		Short: "Record a manual refund, and show what is needed to send it", Args: cobra.ExactArgs(1),
		Long: `gateway ops settlements refund-note records a manual refund in a settlement's history and prints
what you need to send it: the payer, the amount paid, the unused part, and the reason. It moves no money and revokes
no credential. The reason appears on the receipt, which anyone with the transaction's hash can read: write it for
the payer.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			tx, payer, err := w.read(args[0])
			if err != nil {
				return err
			}
			why, err := text("--reason", reason, 500)
			if err != nil {
				return err
			}
			cfg, err := config.FromEnvironment(config.OpsPaid)
			if err != nil {
				return err
			}
			noted, err := operator.NoteRefund(cmd.Context(), cfg, w.chainID, tx, payer, why, again)
			if err != nil {
				return err
			}
			return writeRefund(cmd.OutOrStdout(), &noted, why)
		},
	}
	w.flags(cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the payer; required")
	cmd.Flags().BoolVar(&again, "again", false, "note another refund of the same settlement")
	return cmd
}

func writeSettlements(out io.Writer, all []operator.SettlementView, limit int) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line(table, "CHANGED", "STAGE", "REASON", "PAID", "UNITS", "CHAIN", "PAYER", "TRANSACTION")
	for i := range all {
		s, bought := &all[i], "-"
		if s.Granted != nil {
			bought = s.Granted.Units.Grouped()
		}
		line(table, moment(s.UpdatedAt), string(s.Stage), orDash(s.Reason), paidWords(s), bought, fmt.Sprint(s.ChainID),
			s.Payer, s.Tx.String())
	}
	switch len(all) {
	case 0:
		line(table, "none")
	case limit:
		line(table, "there may be more; --limit shows them")
	}
	return table.Flush()
}

func paidWords(s *operator.SettlementView) string {
	if s.Paid == 0 {
		return "-"
	}
	return s.Paid.USDC() + " USDC"
}

func writeSettlement(out io.Writer, s *operator.SettlementHistory) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	stage := string(s.Stage)
	if s.Reason != "" {
		stage += ", " + s.Reason
	}
	line(table, "TRANSACTION", fmt.Sprintf("%s on chain %d", s.Tx, s.ChainID))
	line(table, "PAYER", s.Payer)
	line(table, "STAGE", fmt.Sprintf("%s since %s", stage, moment(s.UpdatedAt)))
	line(table, "PAID", paidWords(&s.SettlementView))
	writeGrant(table, s)
	line(table, "WORKFLOW", s.WorkflowID)
	line(table, "")
	line(table, "AT", "STAGE", "WHAT HAPPENED")
	for _, l := range s.History {
		line(table, moment(l.At), string(l.Stage), l.Words)
	}
	line(table, "")
	return table.Flush()
}

func writeGrant(table io.Writer, s *operator.SettlementHistory) {
	g := s.Granted
	if g == nil {
		return
	}
	country := "not located"
	if g.Country != "" {
		country = g.Country
	}
	capped := ""
	if g.Capped {
		capped = ", capped"
	}
	line(table, "TAX", fmt.Sprintf("%s USDC net and %s USDC VAT, %s", g.Net.USDC(), g.VAT.USDC(), country))
	line(table, "UNITS", fmt.Sprintf("%s on %s%s: %s used, %s not used", g.Units.Grouped(), g.Tier, capped,
		s.Used.Grouped(), max(g.Units-s.Used, 0).Grouped()))
	line(table, "WINDOW", fmt.Sprintf("%s to %s", moment(g.RedeemedAt), moment(g.WindowEnds)))
	if g.Rotations > 0 {
		line(table, "REDEEMED", fmt.Sprintf("%d times more, each with a new credential", g.Rotations))
	}
	line(table, "FINALITY", string(s.Finality))
	line(table, "ACCOUNT", g.AccountID)
}

// writeRefund writes what is needed to send the money back by hand.
func writeRefund(out io.Writer, s *operator.SettlementHistory, why string) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line(table, "SEND TO", s.Payer+fmt.Sprintf(", on chain %d", s.ChainID))
	line(table, "PAID", paidWords(&s.SettlementView)+" in "+s.Tx.String())
	line(table, "NOT USED", s.Unused().USDC()+" USDC of it")
	writeGrant(table, s)
	line(table, "STAGE", string(s.Stage))
	line(table, "WHY", why)
	switch {
	case s.Stage == x402.StageReorganised:
		line(table, "NOTE",
			"the transaction is no longer part of the chain: the money never came, so there is nothing to send back")
	case s.Paid == 0:
		line(table, "NOTE", "the chain was not read: look the transfer up before you send anything")
	case s.Granted == nil:
		line(table, "NOTE", "it was not redeemed, and from now on it cannot be: send back the full amount")
	case s.Stage == x402.StageRedeemed:
		line(table, "NOTE", "its credential works until the window ends: units may still be used")
	}
	line(table, "NOTED", "in the history of the settlement and on its receipt")
	return table.Flush()
}
