package activities

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/settlement"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/paymentdb"
)

// SettlementLimits grants settlements and puts them in force.
type SettlementLimits interface {
	GrantSettlement(ctx context.Context, g paymentdb.Grant) (paymentdb.Settlement, error)
	RotateCredential(ctx context.Context, r paymentdb.Rotation) (paymentdb.Settlement, error)
	ConcludeSettlement(ctx context.Context, id x402.ID, f x402.Finality, seen *x402.Finding, words string,
		by accountdb.Author) (paymentdb.Settlement, error)
}

// SettlementRecord stores settlements before they are redeemed.
type SettlementRecord interface {
	FindSettlement(ctx context.Context, id x402.ID) (paymentdb.Settlement, error)
	NoteSettlement(ctx context.Context, id x402.ID, stage x402.Stage, reason, words string,
		seen *x402.Finding) (paymentdb.Settlement, error)
	TellSettlement(ctx context.Context, id x402.ID, words string) error
}

// SettlementChain reads payments from the chain.
type SettlementChain interface {
	Read(ctx context.Context, tx x402.TxHash, expected ...x402.PayerSum) (settlement.Reading, error)
	Terms() x402.Terms
}

var (
	_ SettlementLimits = (*limits.Limits)(nil)
	_ SettlementRecord = (*store.Store)(nil)
	_ SettlementChain  = (*settlement.Reader)(nil)
)

// Settlements reads, grants and concludes pay-per-call payments. Its activities are idempotent.
// Causes of failures stay out of histories, because they name upstreams.
type Settlements struct {
	Limits SettlementLimits
	Record SettlementRecord
	Chain  SettlementChain
	Now    func() time.Time
	Logger *slog.Logger
}

// ErrSettlementFailed is the type of the application errors of Settlements that are retried.
const ErrSettlementFailed = "settlement_failed"

// SettlementQuestion is the argument of ReadSettlement: a settlement to be redeemed on a tier.
type SettlementQuestion struct {
	ID      x402.ID   `json:"id"`
	Tier    plan.Tier `json:"tier"`
	Country string    `json:"country,omitempty"`
}

// SettlementFacts is what the chain reports, and the verdict. When Stuck is set the chain could not
// be read, and all other fields are zero.
type SettlementFacts struct {
	Stuck     string       `json:"stuck,omitempty"` // a reason of package settlement
	Sight     x402.Sight   `json:"sight,omitempty"`
	Found     x402.Finding `json:"found"`
	Finalized uint64       `json:"finalized,omitempty"` // number of the newest final block, 0 when not known
	// FinalizedTime is the time of that block, in Unix seconds.
	FinalizedTime int64 `json:"finalized_time,omitempty"`
	// Alone is settlement.Reading.Alone.
	Alone bool       `json:"alone,omitempty"`
	Stage x402.Stage `json:"stage,omitempty"` // payable, pending or refused
	Why   string     `json:"why,omitempty"`
	Words string     `json:"words,omitempty"`
	Deal  BoughtDeal `json:"deal"`
}

// BoughtDeal is an x402.Deal as histories store it, with units in thousandths.
type BoughtDeal struct {
	Tier       plan.Tier   `json:"tier,omitempty"`
	Country    string      `json:"country,omitempty"`
	Paid       plan.Atomic `json:"paid,omitempty"`
	Net        plan.Atomic `json:"net,omitempty"`
	VAT        plan.Atomic `json:"vat,omitempty"`
	UnitsMilli int64       `json:"units_milli,omitempty"`
	Capped     bool        `json:"capped,omitempty"`
}

func bought(d x402.Deal) BoughtDeal { //nolint:gocritic // a copy does no harm
	return BoughtDeal{
		Tier: d.Tier, Country: d.Country, Paid: d.Paid, Net: d.Net, VAT: d.VAT, UnitsMilli: int64(d.Units),
		Capped: d.Capped,
	}
}

// Deal is what was bought.
func (b *BoughtDeal) Deal() x402.Deal {
	return x402.Deal{
		Tier: b.Tier, Country: b.Country, Paid: b.Paid, Net: b.Net, VAT: b.VAT, Units: plan.Units(b.UnitsMilli),
		Capped: b.Capped,
	}
}

// ReadSettlement reads the chain and judges the payment by the time at which it was first seen and
// by what is stored of it. A chain that cannot be read is a result (Stuck), not an error.
//
//nolint:gocritic // a copy does no harm
func (s *Settlements) ReadSettlement(ctx context.Context, q SettlementQuestion) (SettlementFacts, error) {
	expected, at := x402.PayerSum{Payer: q.ID.Payer}, s.Now()
	if sold, ok := plan.FindPerCallTier(q.Tier); ok {
		expected.Paid = sold.NetAmountRequired()
	}
	known, err := s.Record.FindSettlement(ctx, q.ID)
	switch {
	case err == nil:
		expected.Paid, at = max(expected.Paid, known.Found.Paid), known.SeenAt
	case !errors.Is(err, store.ErrNotFound):
		return SettlementFacts{}, s.failed(err, "find", q.ID)
	}
	reading, err := s.Chain.Read(ctx, q.ID.Tx, expected)
	if stuck, ok := errors.AsType[*settlement.UnreadableError](err); ok {
		s.Logger.Warn("a payment cannot be read", "settlement", q.ID.String(), "why", stuck.Why, "error", err)
		return SettlementFacts{Stuck: stuck.Why}, nil
	}
	if err != nil {
		return SettlementFacts{}, s.failed(err, "read", q.ID)
	}
	found := reading.Finding(q.ID.Payer)
	verdict, err := s.Chain.Terms().Judge(reading.Sight, found, q.Tier, q.Country, at)
	if err != nil {
		return SettlementFacts{}, s.failed(err, "judge", q.ID)
	}
	return SettlementFacts{
		Sight: reading.Sight, Found: found, Finalized: reading.Finalized, FinalizedTime: reading.FinalizedTime,
		Alone: reading.Alone, Stage: verdict.Stage, Why: verdict.Why, Words: verdict.Words, Deal: bought(verdict.Deal),
	}, nil
}

// SettlementNote is the progress of a settlement that is not redeemed yet.
type SettlementNote struct {
	ID     x402.ID       `json:"id"`
	Stage  x402.Stage    `json:"stage"`
	Reason string        `json:"reason,omitempty"`
	Words  string        `json:"words"`
	Found  *x402.Finding `json:"found,omitempty"`
}

// NoteSettlement records the progress. If the settlement was redeemed meanwhile, it returns that
// state.
//
//nolint:gocritic // a copy does no harm
func (s *Settlements) NoteSettlement(ctx context.Context, n SettlementNote) (RecordedSettlement, error) {
	noted, err := s.Record.NoteSettlement(ctx, n.ID, n.Stage, n.Reason, n.Words, n.Found)
	if err != nil {
		return RecordedSettlement{}, s.failed(err, "note", n.ID)
	}
	return recorded(&noted), nil
}

// RecordedSettlement is the stored state of a settlement. The fields below Stage are set once it is
// redeemed.
type RecordedSettlement struct {
	Stage      x402.Stage    `json:"stage,omitempty"`
	Finality   x402.Finality `json:"finality,omitempty"`
	Account    account.ID    `json:"account"`
	Key        account.KeyID `json:"key"` // of the current credential
	Paid       plan.Atomic   `json:"paid,omitempty"`
	Block      uint64        `json:"block,omitempty"`
	RedeemedAt time.Time     `json:"redeemed_at"`
	WindowEnds time.Time     `json:"window_ends"`
}

// Redeemed reports whether its units were granted.
func (r *RecordedSettlement) Redeemed() bool { return !r.RedeemedAt.IsZero() }

func recorded(s *paymentdb.Settlement) RecordedSettlement {
	return RecordedSettlement{
		Stage: s.Stage, Finality: s.Finality, Account: s.Account, Key: s.Key, Paid: s.Deal.Paid, Block: s.Found.Block,
		RedeemedAt: s.RedeemedAt, WindowEnds: s.WindowEnds,
	}
}

// FindSettlement returns the stored state; the zero RecordedSettlement when there is none.
func (s *Settlements) FindSettlement(ctx context.Context, id x402.ID) (RecordedSettlement, error) {
	found, err := s.Record.FindSettlement(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return RecordedSettlement{}, nil
	}
	if err != nil {
		return RecordedSettlement{}, s.failed(err, "find", id)
	}
	return recorded(&found), nil
}

// NewCredential is a credential that was minted for a settlement, without its plaintext.
type NewCredential struct {
	Key    account.KeyID  `json:"key"`
	Digest account.Digest `json:"digest"`
	Prefix string         `json:"prefix"`
}

// RedeemRequest is the HTTP request of a redeem. The zero value has no deadline, as requests of
// older programs do.
type RedeemRequest struct {
	ID string `json:"id,omitempty"` // request id, as returned to the client
	// Asked is when the request came in. A credential that was issued since then also answers it.
	// Zero means that none does.
	Asked time.Time `json:"asked,omitzero"`
	// Deadline is when the client stops waiting. Zero means never.
	Deadline time.Time `json:"deadline,omitzero"`
}

// Late reports whether the client has stopped waiting.
func (r *RedeemRequest) Late(now time.Time) bool {
	return !r.Deadline.IsZero() && !now.Before(r.Deadline)
}

// rotation returns the rotation to a minted credential.
func (r *RedeemRequest) rotation(id x402.ID, minted paymentdb.Credential) paymentdb.Rotation {
	reason := "redeemed again"
	if r.ID != "" {
		reason += " by request " + r.ID
	}
	return paymentdb.Rotation{
		ID: id, Credential: minted, Since: r.Asked, By: accountdb.Author{
			Actor: "payer " + id.Payer.String(), Origin: originAPI, Reason: reason,
		},
	}
}

// SettlementGrant grants a payer what was paid for.
type SettlementGrant struct {
	ID         x402.ID       `json:"id"`
	Deal       BoughtDeal    `json:"deal"`
	Found      x402.Finding  `json:"found"`
	Credential NewCredential `json:"credential"`
	Request    RedeemRequest `json:"request,omitzero"`
}

// originAPI is the origin of redeems in the audit log.
const originAPI = "api"

// GrantSettlement grants the units once. If they were granted before, it rotates the credential,
// unless the current one was issued after the request came in. After the request's deadline it
// changes nothing and returns the stored state.
//
//nolint:gocritic // a copy does no harm
func (s *Settlements) GrantSettlement(ctx context.Context, g SettlementGrant) (RecordedSettlement, error) {
	if g.Request.Late(s.Now()) {
		return s.FindSettlement(ctx, g.ID)
	}
	minted := paymentdb.Credential(g.Credential)
	granted, err := s.Limits.GrantSettlement(ctx, paymentdb.Grant{
		ID: g.ID, Deal: g.Deal.Deal(), Found: g.Found, Credential: minted, Origin: originAPI,
	})
	if err == nil && granted.Key != minted.Key {
		granted, err = s.Limits.RotateCredential(ctx, g.Request.rotation(g.ID, minted))
	}
	if err != nil {
		return RecordedSettlement{}, s.failed(err, "grant", g.ID)
	}
	return recorded(&granted), nil
}

// SettlementRotation is the argument of RotateSettlement.
type SettlementRotation struct {
	ID         x402.ID       `json:"id"`
	Credential NewCredential `json:"credential"`
	Request    RedeemRequest `json:"request,omitzero"`
}

// RotateSettlement replaces the credential of a redeemed settlement, unless the current one was
// issued after the request came in. The new one has what is left of the units. After the request's
// deadline it changes nothing and returns the stored state.
//
//nolint:gocritic // a copy does no harm
func (s *Settlements) RotateSettlement(ctx context.Context, r SettlementRotation) (RecordedSettlement, error) {
	if r.Request.Late(s.Now()) {
		return s.FindSettlement(ctx, r.ID)
	}
	rotated, err := s.Limits.RotateCredential(ctx, r.Request.rotation(r.ID, paymentdb.Credential(r.Credential)))
	if err != nil {
		return RecordedSettlement{}, s.failed(err, "rotate", r.ID)
	}
	return recorded(&rotated), nil
}

// SettlementEnd is the finality of a redeemed settlement's transaction.
type SettlementEnd struct {
	ID       x402.ID       `json:"id"`
	Finality x402.Finality `json:"finality"`
	Words    string        `json:"words"`
	Found    *x402.Finding `json:"found,omitempty"`
}

// ConcludeSettlement records the finality. If the transaction is gone, the credential is revoked
// everywhere.
func (s *Settlements) ConcludeSettlement(ctx context.Context, e SettlementEnd) (RecordedSettlement, error) {
	concluded, err := s.Limits.ConcludeSettlement(ctx, e.ID, e.Finality, e.Found, e.Words,
		accountdb.Author{Actor: "settlement", Origin: "worker", Reason: string(e.Finality)})
	if err != nil {
		return RecordedSettlement{}, s.failed(err, "conclude", e.ID)
	}
	return recorded(&concluded), nil
}

// SettlementWord is an event in a settlement's history.
type SettlementWord struct {
	ID    x402.ID `json:"id"`
	Words string  `json:"words"`
}

// TellSettlement appends the event.
func (s *Settlements) TellSettlement(ctx context.Context, w SettlementWord) error {
	if err := s.Record.TellSettlement(ctx, w.ID, w.Words); err != nil {
		return s.failed(err, "tell", w.ID)
	}
	return nil
}

// failed logs the cause and returns the error for the history: a refusal is not retried, anything
// else is.
func (s *Settlements) failed(err error, step string, id x402.ID) error {
	if refusal, ok := errors.AsType[*fault.Error](err); ok && refusal.Reason != fault.InternalFault &&
		refusal.Reason != fault.NotYetInForce {
		return refused(refusal)
	}
	s.Logger.Error("a settlement is not done yet", "step", step, "settlement", id.String(), "error", err)
	return temporal.NewApplicationError("it failed; the worker's log names the cause", ErrSettlementFailed)
}
