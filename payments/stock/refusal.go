package stock

import (
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/store/paymentdb"
)

const retryAfter = 2 * time.Second

// retry sets the time after which the same payment may be sent again.
func retry(f *fault.Error) *fault.Error {
	f.RetryAfter = retryAfter
	return f
}

// refused refuses a payment that moved no money.
func refused(words string) *fault.Error { return fault.New(fault.PaymentRequired, "%s", words) }

func notRecorded(err error) *fault.Error {
	return retry(fault.New(fault.DurableUnavailable,
		"The payment could not be recorded, so it was not settled. Nothing was paid; send it again in a few "+
			"seconds.").Wrap(err))
}

func unavailable(err error) *fault.Error {
	return retry(fault.New(fault.DurableUnavailable,
		"The facilitator that settles payments does not answer. Nothing was paid; send the payment again in a few "+
			"seconds, or pay against the menu at /x402.").Wrap(err))
}

// unknown refuses a payment that may or may not have moved money. Its status is HTTP 409 because
// stock clients retry automatically on 5xx, and must not retry here.
func unknown(q *x402.Quote, a *paymentdb.Authorization) *fault.Error {
	return withAuthorization(fault.New(fault.OutcomeUnknown,
		"The payment was handed over to be settled and no answer says what came of it, so the call was not relayed. "+
			"It is never sent again. Look for the authorization's transaction on the chain: when it is there, "+
			"redeem it at POST /x402/redeem; when it is not there by the time in data.valid_before, nothing was paid."),
		q, a)
}

// withAuthorization adds the fields that identify an authorization on the chain. All of them are
// public there once it was used.
func withAuthorization(f *fault.Error, q *x402.Quote, a *paymentdb.Authorization) *fault.Error {
	f = f.With("chain_id", q.Terms.Chain).With("asset", q.Terms.Asset.String()).With("payer",
		a.Payer.String()).With("nonce", a.Nonce.String())
	if !a.ValidBefore.IsZero() {
		f = f.With("valid_before", a.ValidBefore.UTC().Format(time.RFC3339))
	}
	return f.With("redeem", "/x402/redeem")
}

// notGranted refuses a payment that moved money while the result of its grant is unknown.
func notGranted(id x402.ID) *fault.Error {
	return fault.New(fault.OutcomeUnknown,
		"The payment settled in transaction %s, and its units could not be granted right now, so the call was not "+
			"relayed. Do not pay again: redeem the transaction at POST /x402/redeem.", id.Tx).With("transaction_hash",
		id.Tx.String()).With("redeem", "/x402/redeem")
}

// redeemedBefore refuses a payment that moved money in a transaction whose units were granted
// before.
func redeemedBefore(id x402.ID) *fault.Error {
	return fault.New(fault.SettlementRedeemed,
		"The payment settled in transaction %s, which was redeemed already, and a transaction buys once for each "+
			"payer. Redeem it again at POST /x402/redeem for a credential for what is left. When two payments "+
			"settled in it together, the units of one are missing: file a ticket at POST /support that names the "+
			"transaction.",
		id.Tx).
		With("transaction_hash", id.Tx.String()).With("redeem", "/x402/redeem").With("support", "/support")
}

// refuseMoreOpen refuses a payment because limit others still have an open outcome.
func refuseMoreOpen(whose string, limit int64) *fault.Error {
	f := fault.New(fault.RateWindow,
		"It is not known yet what became of %d payments %s, so this one was not taken and nothing was paid by it. "+
			"Wait until the chain says what became of them, which takes minutes after their authorizations end, and "+
			"redeem those that moved at POST /x402/redeem.", limit, whose)
	f.RetryAfter, f.Window = time.Minute, &fault.Window{Limit: limit, Reset: time.Minute}
	return f
}
