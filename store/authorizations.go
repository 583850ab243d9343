package store

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
)

// AuthorizationID names an authorization (EIP-3009): its nonce works once for the asset and the
// payer.
type AuthorizationID struct {
	Chain uint64
	Asset wallet.Address
	Payer wallet.Address
	Nonce x402.Nonce
}

// AuthorizationState is how far an authorization came.
type AuthorizationState string

// The states of an authorization. Settling is from before a facilitator is asked to settle; Unknown
// when no answer says what came of that; Failed when it refused, or the authorization can move
// nothing any more.
const (
	AuthorizationReserved AuthorizationState = "reserved"
	AuthorizationSettling AuthorizationState = "settling"
	AuthorizationSettled  AuthorizationState = "settled"
	AuthorizationFailed   AuthorizationState = "failed"
	AuthorizationUnknown  AuthorizationState = "unknown"
)

// OpenAuthorizations lists the states of authorizations of which the chain may still say what
// became of them.
func OpenAuthorizations() []AuthorizationState {
	return []AuthorizationState{AuthorizationSettling, AuthorizationSettled, AuthorizationFailed, AuthorizationUnknown}
}

// Authorization is what is known of one that a client paid with.
type Authorization struct {
	AuthorizationID
	Attempt     Attempt
	State       AuthorizationState
	Reason      string // of a failure, in words of a protocol
	Value       plan.Atomic
	ValidBefore time.Time
	FromBlock   uint64      // from which on a transfer by it is looked for
	Tx          x402.TxHash // of a settled one
	Network     string      // prefix of the address that it came from, while it is open
	Closed      bool        // nothing more can come of it, and a transfer's finality is watched
}

// Attempt names the request that holds an authorization: nobody else may have it settled.
type Attempt struct{ uuid.UUID }

// NewAttempt makes a name for a request.
func NewAttempt() Attempt { return Attempt{uuid.Must(uuid.NewV7())} }

// ReserveAuthorization reserves an authorization for its attempt and says whether that got it.
// Otherwise it gives who has it. A reservation that is not settled after hold may be given to
// others.
//
//nolint:gocritic // a copy does no harm
func (s *Store) ReserveAuthorization(ctx context.Context, a Authorization,
	hold time.Duration,
) (Authorization, bool, error) {
	for range 2 { // what was in the way may be released between the two statements
		n, err := s.queries().ReserveAuthorization(ctx, db.ReserveAuthorizationParams{
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
		if !errors.Is(err, ErrNotFound) {
			return Authorization{}, false, err
		}
	}
	return Authorization{AuthorizationID: a.AuthorizationID, State: AuthorizationReserved}, false, nil
}

// FindAuthorization reads an authorization, or ErrNotFound.
func (s *Store) FindAuthorization(ctx context.Context, id AuthorizationID) (Authorization, error) {
	row, err := s.queries().GetAuthorization(ctx, db.GetAuthorizationParams{
		//nolint:gosec // ids are small
		ChainID: int64(id.Chain), Asset: id.Asset[:], Payer: id.Payer[:], Nonce: id.Nonce[:],
	})
	if err != nil {
		return Authorization{}, fmt.Errorf("find an authorization: %w", found(err))
	}
	return authorizationOf(row), nil
}

// ReleaseAuthorization frees a reservation, so that the authorization may be presented again. One
// that is being settled is given back only when the request to do so is known not to have left.
func (s *Store) ReleaseAuthorization(ctx context.Context, of Attempt, unsent bool) error {
	if _, err := s.queries().ReleaseAuthorization(ctx, db.ReleaseAuthorizationParams{
		Attempt: of.UUID, Unsent: unsent,
	}); err != nil {
		return fmt.Errorf("release an authorization: %w", err)
	}
	return nil
}

// BeginSettling records, before a facilitator is asked, that it will be. False when the reservation
// is not the attempt's any more: then it must not be asked. After hold the chain is looked at for
// what came of it.
func (s *Store) BeginSettling(ctx context.Context, of Attempt, hold time.Duration) (bool, error) {
	n, err := s.queries().BeginSettling(ctx, db.BeginSettlingParams{Attempt: of.UUID, HoldSeconds: hold.Seconds()})
	if err != nil {
		return false, fmt.Errorf("begin to settle an authorization: %w", err)
	}
	return n == 1, nil
}

// EndSettling records what a facilitator answered: settled with a transaction, failed or unknown
// with a reason. What the chain was found to say meanwhile stands. The chain is looked at after
// hold.
func (s *Store) EndSettling(ctx context.Context, of Attempt, state AuthorizationState, reason string, tx x402.TxHash,
	hold time.Duration,
) error {
	p := db.EndSettlingParams{Attempt: of.UUID, State: string(state), Reason: reason, HoldSeconds: hold.Seconds()}
	if state == AuthorizationSettled {
		p.TxHash = tx[:]
	}
	if _, err := s.queries().EndSettling(ctx, p); err != nil {
		return fmt.Errorf("end the settling of an authorization: %w", err)
	}
	return nil
}

// CountOpenAuthorizations says of how many authorizations of a payer and of a network it is open
// what became of them, each counted up to most. Reservations are not among them: anybody can make
// those in a payer's name.
func (s *Store) CountOpenAuthorizations(ctx context.Context, payer wallet.Address, network string,
	limit int,
) (ofPayer, ofNetwork int, err error) {
	//nolint:gosec // small
	n, err := s.queries().CountOpenAuthorizations(ctx, db.CountOpenAuthorizationsParams{
		Payer: payer[:], Network: network, Most: int32(limit),
	})
	if err != nil {
		return 0, 0, fmt.Errorf("count open authorizations: %w", err)
	}
	return int(n.OfPayer), int(n.OfNetwork), nil
}

// ClaimAuthorizations returns up to most authorizations of which the chain may say what came of
// them, those that wait longest first, and leaves each to the caller for as long as again says, and
// that much longer for each minute of its age, an hour at most. Reservations whose process died are
// released on the way.
func (s *Store) ClaimAuthorizations(ctx context.Context, again time.Duration, limit int) ([]Authorization, error) {
	if _, err := s.queries().ReleaseAbandoned(ctx); err != nil {
		return nil, fmt.Errorf("release abandoned authorizations: %w", err)
	}
	//nolint:gosec // bounded
	rows, err := s.queries().ClaimAuthorizations(ctx, db.ClaimAuthorizationsParams{
		AgainSeconds: again.Seconds(), Most: int32(min(limit, maxPage)),
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

// ConcludeAuthorization records what the chain says: settled by a transaction, or failed because it
// can move nothing any more. The first conclusion stands; false when there was one.
func (s *Store) ConcludeAuthorization(ctx context.Context, of Attempt, state AuthorizationState, reason string,
	tx x402.TxHash,
) (bool, error) {
	p := db.ConcludeAuthorizationParams{Attempt: of.UUID, State: string(state), Reason: reason}
	if state == AuthorizationSettled {
		p.TxHash = tx[:]
	}
	n, err := s.queries().ConcludeAuthorization(ctx, p)
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
