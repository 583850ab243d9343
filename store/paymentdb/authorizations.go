package paymentdb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/store/internal/pg"
)

// AuthorizationID identifies a payment authorization (EIP-3009). A payer's nonce can be used once
// per asset.
type AuthorizationID struct {
	Chain uint64
	Asset wallet.Address
	Payer wallet.Address
	Nonce x402.Nonce
}

// AuthorizationState is how far the settlement of an authorization got.
type AuthorizationState string

// The states of an authorization. Settling is recorded before a facilitator is asked to settle it.
// Unknown means that the facilitator's answer did not say what happened. Failed means that the
// facilitator refused, or that the authorization can no longer transfer anything.
const (
	AuthorizationReserved AuthorizationState = "reserved"
	AuthorizationSettling AuthorizationState = "settling"
	AuthorizationSettled  AuthorizationState = "settled"
	AuthorizationFailed   AuthorizationState = "failed"
	AuthorizationUnknown  AuthorizationState = "unknown"
)

// OpenAuthorizations lists the states in which the chain may still decide the outcome.
func OpenAuthorizations() []AuthorizationState {
	return []AuthorizationState{AuthorizationSettling, AuthorizationSettled, AuthorizationFailed, AuthorizationUnknown}
}

// Authorization is the stored state of an authorization that a client paid with.
type Authorization struct {
	AuthorizationID
	Attempt     Attempt
	State       AuthorizationState
	Reason      string // why it failed, as an x402 error code
	Value       plan.Atomic
	ValidBefore time.Time
	FromBlock   uint64      // the first block to search for a transfer by it
	Tx          x402.TxHash // of a settled authorization
	Network     string      // network of the client's address, while it is open
	Closed      bool        // no further outcome is possible
}

// Attempt identifies the request that holds an authorization. Only that request may have it
// settled.
type Attempt struct{ uuid.UUID }

// NewAttempt returns a new id for a request.
func NewAttempt() Attempt { return Attempt{uuid.Must(uuid.NewV7())} }

// ReserveAuthorization reserves an authorization for its attempt. It reports true when that got it,
// and otherwise returns the authorization as its holder stored it. A reservation expires when it is
// not being settled after hold.
//
//nolint:gocritic // a copy does no harm
func (s *Store) ReserveAuthorization(ctx context.Context, a Authorization,
	hold time.Duration,
) (Authorization, bool, error) {
	for range 2 { // the holder may release it between the two statements
		n, err := s.pool.Queries().ReserveAuthorization(ctx, db.ReserveAuthorizationParams{
			//nolint:gosec // ids are small
			ChainID: int64(a.Chain), Asset: a.Asset[:], Payer: a.Payer[:], Nonce: a.Nonce[:], Attempt: a.Attempt.UUID,
			Value: int64(a.Value),
			//nolint:gosec // heads are small
			ValidBefore: a.ValidBefore, FromBlock: int64(a.FromBlock), Network: a.Network, HoldSeconds: hold.Seconds(),
		})
		switch {
		case err != nil:
			return Authorization{}, false, fmt.Errorf("reserve an authorization: %w", err)
		case n == 1:
			a.State = AuthorizationReserved
			return a, true, nil
		}
		before, err := s.FindAuthorization(ctx, a.AuthorizationID)
		if err == nil {
			return before, false, nil
		}
		if !errors.Is(err, pg.ErrNotFound) {
			return Authorization{}, false, err
		}
	}
	return Authorization{AuthorizationID: a.AuthorizationID, State: AuthorizationReserved}, false, nil
}

// FindAuthorization reads an authorization, or ErrNotFound.
func (s *Store) FindAuthorization(ctx context.Context, id AuthorizationID) (Authorization, error) {
	row, err := s.pool.Queries().GetAuthorization(ctx, db.GetAuthorizationParams{
		//nolint:gosec // ids are small
		ChainID: int64(id.Chain), Asset: id.Asset[:], Payer: id.Payer[:], Nonce: id.Nonce[:],
	})
	if err != nil {
		return Authorization{}, fmt.Errorf("find an authorization: %w", pg.NotFound(err))
	}
	return authorizationOf(row), nil
}

// ReleaseAuthorization deletes a reservation, so that the authorization may be presented again. One
// that is being settled is released only when unsent is true: the request to settle it is known not
// to have left.
func (s *Store) ReleaseAuthorization(ctx context.Context, of Attempt, unsent bool) error {
	if _, err := s.pool.Queries().ReleaseAuthorization(ctx, db.ReleaseAuthorizationParams{
		Attempt: of.UUID, Unsent: unsent,
	}); err != nil {
		return fmt.Errorf("release an authorization: %w", err)
	}
	return nil
}

// BeginSettling records that a facilitator is about to be asked. It reports false when the attempt
// no longer holds the reservation; the facilitator must not be asked then. After hold, the chain is
// searched for the outcome.
func (s *Store) BeginSettling(ctx context.Context, of Attempt, hold time.Duration) (bool, error) {
	n, err := s.pool.Queries().BeginSettling(ctx, db.BeginSettlingParams{Attempt: of.UUID, HoldSeconds: hold.Seconds()})
	if err != nil {
		return false, fmt.Errorf("begin to settle an authorization: %w", err)
	}
	return n == 1, nil
}

// EndSettling records a facilitator's answer: settled with a transaction, or failed or unknown with
// a reason. A conclusion from the chain that was recorded meanwhile is kept. After hold, the chain
// is searched for the outcome.
func (s *Store) EndSettling(ctx context.Context, of Attempt, state AuthorizationState, reason string, tx x402.TxHash,
	hold time.Duration,
) error {
	p := db.EndSettlingParams{Attempt: of.UUID, State: string(state), Reason: reason, HoldSeconds: hold.Seconds()}
	if state == AuthorizationSettled {
		p.TxHash = tx[:]
	}
	if _, err := s.pool.Queries().EndSettling(ctx, p); err != nil {
		return fmt.Errorf("end the settling of an authorization: %w", err)
	}
	return nil
}

// CountOpenAuthorizations counts the authorizations of a payer and of a network whose outcome is
// open, each up to limit. Reservations do not count: anybody can make those in a payer's name.
func (s *Store) CountOpenAuthorizations(ctx context.Context, payer wallet.Address, network string,
	limit int,
) (ofPayer, ofNetwork int, err error) {
	//nolint:gosec // small
	n, err := s.pool.Queries().CountOpenAuthorizations(ctx, db.CountOpenAuthorizationsParams{
		Payer: payer[:], Network: network, MaxRows: int32(limit),
	})
	if err != nil {
		return 0, 0, fmt.Errorf("count open authorizations: %w", err)
	}
	return int(n.OfPayer), int(n.OfNetwork), nil
}

// ClaimAuthorizations leases up to limit authorizations whose outcome the chain may decide, those
// due longest first. A lease lasts again, plus again for each minute of the authorization's age,
// one hour at most. It also deletes reservations that expired because their process died.
func (s *Store) ClaimAuthorizations(ctx context.Context, again time.Duration, limit int) ([]Authorization, error) {
	if _, err := s.pool.Queries().ReleaseAbandoned(ctx); err != nil {
		return nil, fmt.Errorf("release abandoned authorizations: %w", err)
	}
	//nolint:gosec // bounded
	rows, err := s.pool.Queries().ClaimAuthorizations(ctx, db.ClaimAuthorizationsParams{
		AgainSeconds: again.Seconds(), MaxRows: int32(min(limit, pg.MaxPage)),
	})
	if err != nil {
		return nil, fmt.Errorf("claim authorizations: %w", err)
	}
	claimed := make([]Authorization, len(rows))
	for i := range rows {
		claimed[i] = authorizationOf(rows[i])
	}
	return claimed, nil
}

// ConcludeAuthorization records what the chain shows: settled by a transaction, or failed because
// nothing can be transferred any more. The first conclusion is kept; it reports false when there
// was one.
func (s *Store) ConcludeAuthorization(ctx context.Context, of Attempt, state AuthorizationState, reason string,
	tx x402.TxHash,
) (bool, error) {
	p := db.ConcludeAuthorizationParams{Attempt: of.UUID, State: string(state), Reason: reason}
	if state == AuthorizationSettled {
		p.TxHash = tx[:]
	}
	n, err := s.pool.Queries().ConcludeAuthorization(ctx, p)
	if err != nil {
		return false, fmt.Errorf("conclude an authorization: %w", err)
	}
	return n == 1, nil
}

func authorizationOf(row db.PaymentAuthorization) Authorization { //nolint:gocritic // rows go by value
	a := Authorization{
		//nolint:gosec // written as such
		AuthorizationID: AuthorizationID{Chain: uint64(row.ChainID)}, Attempt: Attempt{row.Attempt},
		State: AuthorizationState(row.State),
		//nolint:gosec // not negative, by its constraint
		Network: row.Network, Reason: row.Reason, Value: plan.Atomic(row.Value), ValidBefore: row.ValidBefore.UTC(),
		FromBlock: uint64(row.FromBlock), Closed: row.ClosedAt != nil,
	}
	copy(a.Asset[:], row.Asset)
	copy(a.Payer[:], row.Payer)
	copy(a.Nonce[:], row.Nonce)
	copy(a.Tx[:], row.TxHash)
	return a
}
