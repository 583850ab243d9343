// Package stock takes payments of stock x402 clients before a call is relayed. It reserves the
// authorization that the client signed, has a facilitator verify and settle it, and grants the
// units that it pays for. An authorization is submitted for settlement once, whatever the result.
// If no answer states the outcome, the Resolver reads it from the chain later.
package stock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/netlimit"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/facilitator"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/store/paymentdb"
)

// Record stores the state of authorizations; store.Store implements it.
type Record interface {
	ReserveAuthorization(ctx context.Context, a paymentdb.Authorization,
		hold time.Duration) (paymentdb.Authorization, bool, error)
	CountOpenAuthorizations(ctx context.Context, payer wallet.Address, network string,
		limit int) (ofPayer, ofNetwork int, err error)
	ReleaseAuthorization(ctx context.Context, of paymentdb.Attempt, unsent bool) error
	BeginSettling(ctx context.Context, of paymentdb.Attempt, hold time.Duration) (bool, error)
	EndSettling(ctx context.Context, of paymentdb.Attempt, state paymentdb.AuthorizationState, reason string,
		tx x402.TxHash,
		hold time.Duration) error
	TellSettlement(ctx context.Context, id x402.ID, words string) error
}

// Facilitator verifies and settles payments; facilitator.Client implements it.
type Facilitator interface {
	Verify(ctx context.Context, q *x402.Quote, p *x402.Payload) error
	Settle(ctx context.Context, q *x402.Quote, p *x402.Payload) (x402.TxHash, error)
}

// Grants grants the units of a settlement. It is idempotent; limits.Limits implements it.
type Grants interface {
	GrantSettlement(ctx context.Context, g paymentdb.Grant) (paymentdb.Settlement, error)
}

// Options of a Processor. All are required except Chain, Logger and OnTaken.
type Options struct {
	Record      Record
	Facilitator Facilitator
	Grants      Grants
	Networks    *netlimit.Limits // rate limits of payments by network
	Terms       x402.Terms
	Token       x402.Token
	Hasher      *account.Hasher
	Chain       Chain // finds the block of a transaction for its grant; nil leaves the block out
	// Head returns the newest block of the chain that payments are made on; false when unknown.
	Head   func() (uint64, bool)
	Now    func() time.Time
	Random io.Reader
	Logger *slog.Logger // slog.Default() by default
	// OnTaken is called with the outcome of each payment that was presented.
	OnTaken func(Outcome)
}

// Processor takes payments. It is safe for concurrent use.
type Processor struct{ Options }

// New returns a Processor.
func New(o Options) *Processor { //nolint:gocritic // read once at the start
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.OnTaken == nil {
		o.OnTaken = func(Outcome) {}
	}
	return &Processor{o}
}

// Quote returns what the units of one payment cost a caller; see x402.Terms.Quote.
func (c *Processor) Quote(asked plan.Tier, country, resource string) x402.Quote {
	return c.Terms.Quote(c.Token, asked, country, resource)
}

// Sale is the result of a payment: a credential and the settlement that it belongs to.
type Sale struct {
	Credential account.Credential
	Settlement paymentdb.Settlement
}

const (
	// hold is how long a request owns an authorization. After that another request may reserve it,
	// or the Resolver looks for it on the chain. It is longer than verifying and settling together.
	hold = time.Minute
	// writeTimeout bounds each write to PostgreSQL, which also happens after the client has left.
	writeTimeout = 5 * time.Second
)

// Take takes a payment and grants what it pays for. The refusal states whether to pay again: it is
// fault.PaymentRequired when nothing moved and a new payment may be signed, and
// fault.OutcomeUnknown, with instructions, when money may have moved.
func (c *Processor) Take(ctx context.Context, q *x402.Quote, p *x402.Payload,
	network netip.Prefix,
) (Sale, *fault.Error) {
	sale, outcome, refusal := c.take(ctx, q, p, network)
	c.OnTaken(outcome)
	return sale, refusal
}

func (c *Processor) take(ctx context.Context, q *x402.Quote, p *x402.Payload,
	network netip.Prefix,
) (Sale, Outcome, *fault.Error) {
	if wrong := p.Check(q.Terms, p.Offer.Amount, c.Now()); wrong != "" {
		return Sale{}, Refused, refused(wrong)
	}
	head, known := c.Head()
	if !known {
		return Sale{}, Failed,
			retry(fault.New(fault.NoUpstream,
				"The chain that is paid on cannot be read right now, so the payment was not taken. Retry in a few "+
					"seconds."))
	}
	if refusal := c.limit(ctx, network); refusal != nil {
		return Sale{}, outcomeOf(refusal), refusal
	}
	held, first, refusal := c.reserve(ctx, q, p, head, network)
	switch {
	case !first:
		return Sale{}, Again, refusal
	case refusal != nil:
		return Sale{}, outcomeOf(refusal), refusal
	}
	if refusal := c.verify(ctx, q, p, held); refusal != nil {
		return Sale{}, outcomeOf(refusal), refusal
	}
	// From here on money may move. A client that leaves does not interrupt it.
	ctx = context.WithoutCancel(ctx)
	tx, refusal := c.settle(ctx, q, p, held)
	if refusal != nil {
		return Sale{}, outcomeOf(refusal), refusal
	}
	sale, refusal := c.grant(ctx, q, p, tx)
	if refusal != nil {
		return Sale{}, NotGranted, refusal
	}
	return sale, Granted, nil
}

func (c *Processor) limit(ctx context.Context, network netip.Prefix) *fault.Error {
	taken, err := c.Networks.Take(ctx, netlimit.Payments, network)
	switch {
	case err != nil:
		return retry(fault.New(fault.MeterUnreachable,
			"The meter did not answer, so the payment was not taken. Retry in a few seconds.").Wrap(err))
	case taken.OK():
		return nil
	}
	f := fault.New(fault.RateWindow,
		"Too many payments from %s; this one was not taken. Wait, and use the credential that an earlier one bought.",
		taken.Whose())
	f.RetryAfter, f.Window = taken.Wait, &fault.Window{Limit: taken.Limit, Reset: taken.Reset}
	return f
}

// reserve reserves the authorization for this request. If another request reserved it before, first
// is false and the refusal reports its state.
func (c *Processor) reserve(ctx context.Context, q *x402.Quote, p *x402.Payload, head uint64,
	network netip.Prefix,
) (a paymentdb.Authorization, first bool, refusal *fault.Error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	a, got, err := c.Record.ReserveAuthorization(ctx, paymentdb.Authorization{
		AuthorizationID: paymentdb.AuthorizationID{
			Chain: q.Terms.Chain, Asset: q.Terms.Asset, Payer: p.From, Nonce: p.Nonce,
		},
		Attempt: paymentdb.NewAttempt(), Value: p.Value, ValidBefore: time.Unix(p.ValidBefore, 0), FromBlock: head,
		Network: network.String(),
	}, hold)
	switch {
	case err != nil:
		return a, true, notRecorded(err)
	case !got:
		return a, false, before(q, &a)
	}
	if refusal = c.tooManyOpen(ctx, &a); refusal != nil {
		c.release(ctx, a.Attempt, false)
		return a, true, refusal
	}
	return a, true, nil
}

// before returns the refusal for an authorization that was presented before.
func before(q *x402.Quote, a *paymentdb.Authorization) *fault.Error {
	switch a.State {
	case paymentdb.AuthorizationSettled:
		return withAuthorization(fault.New(fault.SettlementRedeemed,
			"This authorization was settled by transaction %s, and a payment header works once. "+
				"Redeem the transaction at POST /x402/redeem for a credential, or pay again.", a.Tx), q,
			a).With("transaction_hash", a.Tx.String())
	case paymentdb.AuthorizationFailed:
		if !a.Closed { // only the facilitator reported the failure; the chain has not confirmed it
			return unknown(q, a)
		}
		return refused(fmt.Sprintf("This authorization was refused before (%s). Sign another one.", a.Reason))
	case paymentdb.AuthorizationUnknown:
		return unknown(q, a)
	default:
		return withAuthorization(fault.New(fault.OutcomeUnknown,
			"Another request is settling this authorization. Wait for its answer, and do not sign another one "+
				"meanwhile."), q, a)
	}
}

// verify asks the facilitator whether the payment would settle, and releases the authorization if
// it would not.
//
//nolint:gocritic // a copy does no harm
func (c *Processor) verify(ctx context.Context, q *x402.Quote, p *x402.Payload,
	held paymentdb.Authorization,
) *fault.Error {
	err := c.Facilitator.Verify(ctx, q, p)
	if err == nil {
		return nil
	}
	c.release(ctx, held.Attempt, false)
	if refusal, ok := errors.AsType[*facilitator.RefusalError](err); ok {
		return refused(
			fmt.Sprintf("The payment would not settle: %s. This request paid nothing. Sign another one; or, when the "+
				"authorization was used before, redeem its transaction at POST /x402/redeem.", refusal.Reason))
	}
	return unavailable(err)
}

// settle submits the payment for settlement, once.
//
//nolint:gocritic // a copy does no harm
func (c *Processor) settle(ctx context.Context, q *x402.Quote, p *x402.Payload,
	held paymentdb.Authorization,
) (x402.TxHash, *fault.Error) {
	begun, err := c.begin(ctx, held.Attempt)
	switch {
	case err != nil:
		c.release(ctx, held.Attempt, true) // not recorded, so not sent
		return x402.TxHash{}, notRecorded(err)
	case !begun:
		return x402.TxHash{},
			retry(fault.New(fault.DurableUnavailable,
				"Verifying the payment took too long, so it was not settled. Nothing was paid; send it again."))
	}
	tx, err := c.Facilitator.Settle(ctx, q, p)
	refusal, isRefusal := errors.AsType[*facilitator.RefusalError](err)
	switch {
	case err == nil:
		c.end(ctx, held.Attempt, paymentdb.AuthorizationSettled, "", tx)
		return tx, nil
	case isRefusal:
		c.end(ctx, held.Attempt, paymentdb.AuthorizationFailed, refusal.Reason, tx)
		return tx, refused(
			fmt.Sprintf("The payment was refused when it was to be settled: %s. Nothing was paid; sign another one.",
				refusal.Reason))
	case errors.Is(err, facilitator.ErrUnavailable):
		c.release(ctx, held.Attempt, true)
		return tx, unavailable(err)
	default:
		c.end(ctx, held.Attempt, paymentdb.AuthorizationUnknown, "no_answer", tx)
		return tx, unknown(q, &held).Wrap(err)
	}
}

// grant returns the sale of a payment that settled, with its units. If it fails, the payer loses
// nothing and can redeem the transaction.
func (c *Processor) grant(ctx context.Context, q *x402.Quote, p *x402.Payload, tx x402.TxHash) (Sale, *fault.Error) {
	id := x402.ID{Chain: q.Terms.Chain, Tx: tx, Payer: p.From}
	credential, err := account.MintCredential(c.Random)
	if err != nil {
		return Sale{}, notGranted(id).Wrap(err)
	}
	deal, _ := x402.Price(p.Value, p.Offer.Tier, q.Country)
	grant := paymentdb.Grant{
		ID: id, Deal: deal, Found: c.found(ctx, tx, p.Value), Origin: "facilitator",
		Credential: paymentdb.Credential{
			Key: account.NewKeyID(), Digest: credential.Digest(c.Hasher), Prefix: credential.Prefix(),
		},
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	granted, err := c.Grants.GrantSettlement(ctx, grant)
	switch {
	case err != nil:
		return Sale{}, notGranted(id).Wrap(err)
	case granted.Key != grant.Key:
		c.tellOfSecond(ctx, id, p)
		return Sale{}, redeemedBefore(id)
	}
	return Sale{credential, granted}, nil
}

func (c *Processor) begin(ctx context.Context, of paymentdb.Attempt) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return c.Record.BeginSettling(ctx, of, hold)
}

// release frees an authorization. If that fails, the Resolver concludes it later.
func (c *Processor) release(ctx context.Context, of paymentdb.Attempt, unsent bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	if err := c.Record.ReleaseAuthorization(ctx, of, unsent); err != nil {
		c.Logger.Warn("an authorization is released later", "error", err)
	}
}

// tellOfSecond notes for support that a payment settled in a transaction whose units were granted
// before. Either its payer redeemed the transaction first, or the transaction settled two payments
// and the units of the second one are missing.
func (c *Processor) tellOfSecond(ctx context.Context, id x402.ID, p *x402.Payload) {
	c.Logger.Warn("a payment settled in a transaction that was granted before; its units may be missing", "settlement",
		id.String(), "nonce", p.Nonce.String(), "value", int64(p.Value))
	words := fmt.Sprintf(
		"A stock client's authorization %s of %d atomic units settled in this transaction after its units were "+
			"granted. When they are not part of what was paid, they are owed.", p.Nonce, p.Value)
	if err := c.Record.TellSettlement(ctx, id, words); err != nil {
		c.Logger.Error("the history of a settlement lacks a payment that came later", "settlement", id.String(),
			"error", err)
	}
}

// end records the facilitator's answer. If that fails, the Resolver reads the outcome from the
// chain.
func (c *Processor) end(ctx context.Context, of paymentdb.Attempt, state paymentdb.AuthorizationState, reason string,
	tx x402.TxHash,
) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	after := time.Duration(0)
	if state == paymentdb.AuthorizationSettled {
		after = hold // the grant comes first, so that the Resolver watches a granted settlement
	}
	if err := c.Record.EndSettling(ctx, of, state, reason, tx, after); err != nil {
		c.Logger.Warn("the outcome of an authorization will be read from the chain", "state", string(state),
			"error", err)
	}
}
