package operator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/bits"
	"time"

	"github.com/chainaccess/gateway/cmd/internal/connect"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/paymentdb"
	"github.com/chainaccess/gateway/workflows"
)

// SettlementView is a settlement as operators see it. Amounts are atomic units of the asset.
type SettlementView struct {
	ChainID    uint64        `json:"chain_id"`
	Tx         x402.TxHash   `json:"tx_hash"`
	Payer      string        `json:"payer"`
	Stage      x402.Stage    `json:"stage"`
	Reason     string        `json:"reason,omitempty"`
	Finality   x402.Finality `json:"finality,omitempty"`
	SeenAt     time.Time     `json:"seen_at"`
	UpdatedAt  time.Time     `json:"updated_at"`
	Paid       plan.Atomic   `json:"paid"` // 0 if the chain was not read yet
	Block      uint64        `json:"block,omitempty"`
	WorkflowID string        `json:"workflow_id"`
	Granted    *GrantView    `json:"granted,omitempty"` // set once it is redeemed
}

// GrantView is the grant of a settlement.
type GrantView struct {
	AccountID  string      `json:"account_id"`
	Tier       plan.Tier   `json:"tier"`
	Country    string      `json:"country"`
	Net        plan.Atomic `json:"net"`
	VAT        plan.Atomic `json:"vat"`
	Units      plan.Units  `json:"units"`
	Capped     bool        `json:"capped"`
	RedeemedAt time.Time   `json:"redeemed_at"`
	WindowEnds time.Time   `json:"window_ends"`
	Rotations  int         `json:"redeemed_again"` // how many times
}

// SettlementHistory is a settlement with its history and the usage of its units in PostgreSQL.
type SettlementHistory struct {
	SettlementView

	Used    plan.Units       `json:"used"`
	History []SettlementLine `json:"history"`
}

// SettlementLine is an event in a settlement's history.
type SettlementLine struct {
	At    time.Time  `json:"at"`
	Stage x402.Stage `json:"stage"`
	Words string     `json:"words"`
}

// Unused returns the part of the payment that no call used: all of it before the grant, and 0 if a
// reorg removed the transaction. It is rounded down.
func (h *SettlementHistory) Unused() plan.Atomic {
	switch {
	case h.Stage == x402.StageReorganised:
		return 0
	case h.Granted == nil:
		return h.Paid
	}
	left := max(h.Granted.Units-h.Used, 0)
	high, low := bits.Mul64(uint64(h.Paid), uint64(left)) //nolint:gosec // not negative, by a constraint of the table
	//nolint:gosec // left is at most units, which are positive
	part, _ := bits.Div64(high, low, uint64(h.Granted.Units))
	return plan.Atomic(part) //nolint:gosec // at most what was paid
}

// Settlements returns settlements, newest change first; of all stages if stage is empty.
func Settlements(ctx context.Context, cfg config.Config, stage x402.Stage, limit int) ([]SettlementView, error) {
	var views []SettlementView
	err := withPayments(ctx, cfg, func(s *store.Store) error {
		all, err := s.ListSettlements(ctx, paymentdb.SettlementFilter{Stage: stage, Limit: limit})
		for i := range all {
			views = append(views, viewSettlement(&all[i]))
		}
		return err
	})
	return views, err
}

// Settlement returns the settlements of a transaction, with their histories; of one payer unless
// payer is zero.
func Settlement(ctx context.Context, cfg config.Config, chainID uint64, tx x402.TxHash,
	payer wallet.Address,
) ([]SettlementHistory, error) {
	var views []SettlementHistory
	err := withPayments(ctx, cfg, func(s *store.Store) (err error) {
		views, err = settlementHistories(ctx, s, chainID, tx, payer)
		return err
	})
	return views, err
}

var errNoSettlement = errors.New(
	"no settlement is recorded for this transaction; check the hash, --chain-id and --payer")

func settlementHistories(ctx context.Context, s *store.Store, chainID uint64, tx x402.TxHash,
	payer wallet.Address,
) ([]SettlementHistory, error) {
	all, err := s.ListSettlementsOf(ctx, chainID, tx)
	if err != nil {
		return nil, err
	}
	var views []SettlementHistory
	for i := range all {
		if !payer.IsZero() && all[i].Payer != payer {
			continue
		}
		v := SettlementHistory{SettlementView: viewSettlement(&all[i])}
		lines, err := s.SettlementHistory(ctx, all[i].ID)
		if err != nil {
			return nil, err
		}
		for _, l := range lines {
			v.History = append(v.History, SettlementLine(l))
		}
		if all[i].Redeemed() {
			if v.Used, err = s.SettlementUsage(ctx, &all[i]); err != nil {
				return nil, err
			}
		}
		views = append(views, v)
	}
	if len(views) == 0 {
		return nil, errNoSettlement
	}
	return views, nil
}

// oneSettlement returns the settlement of a transaction, and an error if payer does not select
// exactly one.
func oneSettlement(ctx context.Context, s *store.Store, chainID uint64, tx x402.TxHash,
	payer wallet.Address,
) (*SettlementHistory, x402.ID, error) {
	all, err := settlementHistories(ctx, s, chainID, tx, payer)
	if err != nil {
		return nil, x402.ID{}, err
	}
	if len(all) > 1 {
		return nil, x402.ID{}, fmt.Errorf("%d wallets paid in this transaction; name one with --payer", len(all))
	}
	from, err := wallet.ParseAddress(all[0].Payer)
	return &all[0], x402.ID{Chain: chainID, Tx: tx, Payer: from}, err
}

// RetrySettlement makes the flow of a settlement read the chain now and returns the flow's id.
func RetrySettlement(ctx context.Context, cfg config.Config, chainID uint64, tx x402.TxHash,
	payer wallet.Address,
) (string, error) {
	var workflowID string
	err := withPayments(ctx, cfg, func(s *store.Store) error {
		v, id, err := oneSettlement(ctx, s, chainID, tx, payer)
		if err != nil {
			return err
		}
		workflowID = v.WorkflowID
		deployment, err := s.ReadDeployment(ctx)
		if err != nil {
			return err
		}
		temporal, err := connect.Temporal(cfg, deployment.ID.String(), nil, slog.New(slog.DiscardHandler))
		if err != nil {
			return err
		}
		defer temporal.Close()
		if err := workflows.NewClient(temporal.Client).LookAtSettlement(ctx, id, cfg.X402FinalityDelay); err != nil {
			return connect.Unreachable("TEMPORAL_ADDRESS", "Temporal", err)
		}
		return nil
	})
	return workflowID, err
}

// refundNoted is the prefix of the history event of a manual refund.
const refundNoted = "Support noted a refund by hand: "

// NoteRefund records that the money of a settlement is sent back by hand, and returns what
// support needs for it. A second note is refused unless again is set, so that two people do not
// send it twice.
func NoteRefund(ctx context.Context, cfg config.Config, chainID uint64, tx x402.TxHash, payer wallet.Address,
	why string, again bool,
) (SettlementHistory, error) {
	var noted SettlementHistory
	err := withPayments(ctx, cfg, func(s *store.Store) error {
		v, id, err := oneSettlement(ctx, s, chainID, tx, payer)
		if err != nil {
			return err
		}
		noted = *v
		before, err := s.NoteRefund(ctx, id, refundNoted+why, again)
		if errors.Is(err, paymentdb.ErrRefundNoted) {
			return fmt.Errorf(
				"a refund was already noted at %s; check whether it was sent, or note another one with --again",
				before.RefundedAt.Format(time.RFC3339))
		}
		return err
	})
	return noted, err
}

func viewSettlement(s *paymentdb.Settlement) SettlementView {
	v := SettlementView{
		ChainID: s.Chain, Tx: s.Tx, Payer: s.Payer.Checksummed(), Stage: s.Stage, Reason: s.Reason,
		Finality: s.Finality, SeenAt: s.SeenAt, UpdatedAt: s.UpdatedAt, Paid: s.Found.Paid, Block: s.Found.Block,
		WorkflowID: workflows.SettlementID(s.ID),
	}
	if s.Redeemed() {
		v.Granted = &GrantView{
			AccountID: s.Account.String(), Tier: s.Deal.Tier, Country: s.Deal.Country, Net: s.Deal.Net, VAT: s.Deal.VAT,
			Units: s.Deal.Units, Capped: s.Deal.Capped, RedeemedAt: s.RedeemedAt, WindowEnds: s.WindowEnds,
			Rotations: s.Rotations,
		}
	}
	return v
}

//nolint:gocritic // a copy does no harm
func withPayments(ctx context.Context, cfg config.Config, use func(*store.Store) error) error {
	s, err := connect.Postgres(ctx, cfg)
	if err != nil {
		return err
	}
	defer s.Close()
	return use(s)
}
