package accountdb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/store/internal/pg"
)

// How an agent joined its account: by its wallet's signature, or by its key's claim code.
const (
	ClaimedViaWallet = "wallet"
	ClaimedViaCode   = "claim_code"
)

// maxAgents is the maximum number of agents of an account.
const maxAgents = 1000

// Agent is an agent of an account, identified by a wallet that it proved. Key is its active key;
// Key.ID is zero when that was revoked and not replaced.
type Agent struct {
	ID         account.AgentID
	Account    account.ID
	Address    wallet.Address
	Name       string
	ClaimedVia string
	ClaimedAt  time.Time
	Key        Key
}

// Claim is a wallet's proof, by a signed message, that it is an agent of an account, with the new
// key that the agent gets.
type Claim struct {
	Account account.ID
	Address wallet.Address
	Name    string
	Message string
	Key     account.KeyID
	Digest  []byte
	Prefix  string
}

// Claimed is the result of ClaimAgent: the agent with its key and account, and the key that was
// replaced.
type Claimed struct {
	Agent   Agent
	Account Account
	Before  account.KeyID // zero when no active key was replaced
}

// ClaimAgent creates an agent, or gives an existing one a new key and revokes the old one, in one
// transaction. within computes the key's monthly cap from the account with its packs; its error
// rolls everything back. It is idempotent by the new key's id. It returns ErrNotFound when there is
// no such account. It refuses an account that is suspended, belongs to no owner or already has
// maxAgents agents.
//
//nolint:gocritic // a copy does no harm
func (s *Store) ClaimAgent(ctx context.Context, c Claim, by Author,
	within func(Account) (plan.Units, error),
) (Claimed, error) {
	var claimed Claimed
	err := s.pool.Tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		row, err := q.LockAccount(ctx, c.Account.UUID)
		if err != nil {
			return pg.NotFound(err)
		}
		owner, err := withPacks(ctx, q, row)
		if err != nil {
			return err
		}
		claimed, err = claimAgent(ctx, q, &c, owner, by, within)
		return err
	})
	if err != nil {
		return Claimed{}, fmt.Errorf("claim an agent of account %s: %w", c.Account, conflict(err))
	}
	return claimed, nil
}

//nolint:gocritic // a copy does no harm
func claimAgent(ctx context.Context, q *db.Queries, c *Claim, owner Account, by Author,
	within func(Account) (plan.Units, error),
) (Claimed, error) {
	if made, err := q.GetKey(ctx, c.Key.UUID); err == nil {
		return claimedBefore(ctx, q, owner, made)
	} else if !errors.Is(err, pgx.ErrNoRows) {
		return Claimed{}, err
	}
	if err := mayClaim(ctx, q, &owner, c.Address); err != nil {
		return Claimed{}, err
	}
	limit, err := within(owner)
	if err != nil {
		return Claimed{}, err
	}
	agent, err := q.ClaimAgent(ctx, db.ClaimAgentParams{
		ID: account.NewAgentID().UUID, AccountID: owner.ID.UUID, Address: c.Address[:], Name: c.Name,
		ClaimedVia: ClaimedViaWallet, Message: c.Message,
	})
	if err != nil {
		return Claimed{}, err
	}
	claimed := Claimed{Account: owner}
	if claimed.Before, err = endKeyOf(ctx, q, agent, by); err != nil {
		return Claimed{}, err
	}
	// The agent's old key is revoked by now, so it does not count.
	if err := roomForKey(ctx, q, owner.ID, "claim the agent again: nothing changed"); err != nil {
		return Claimed{}, err
	}
	row, err := q.InsertKey(ctx, insertKey(NewKey{
		ID: c.Key, Account: owner.ID, Digest: c.Digest, Prefix: c.Prefix, Name: c.Name, Door: account.DoorAccount,
		Daily: account.Unlimited, MonthlyCap: limit, Agent: account.AgentID{UUID: agent.ID},
	}))
	if err != nil {
		return Claimed{}, err
	}
	key, err := keyOf(row)
	if err != nil {
		return Claimed{}, err
	}
	claimed.Agent = agentOf(agent, key)
	after := map[string]any{"agent": agent.ID.String(), "name": c.Name, "monthly_cap_units": unitsOrNull(limit, 0)}
	return claimed, note(ctx, q, subject{owner.ID, key.ID, key.Version}, "claim_agent", by, nil, after)
}

//nolint:gocritic // a copy does no harm
func claimedBefore(ctx context.Context, q *db.Queries, owner Account, made db.Key) (Claimed, error) {
	if made.AccountID != owner.ID.UUID || made.AgentID == nil {
		return Claimed{}, ErrKeyExists
	}
	agent, err := q.GetAgent(ctx, db.GetAgentParams{ID: *made.AgentID, AccountID: owner.ID.UUID})
	if err != nil {
		return Claimed{}, err
	}
	key, err := keyOf(made)
	if err != nil {
		return Claimed{}, err
	}
	claimed := Claimed{Agent: agentOf(agent, key), Account: owner}
	before, err := q.GetKeyBefore(ctx, db.GetKeyBeforeParams{
		Account: owner.ID.UUID, Agent: agent.ID, Key: made.ID, MadeAt: made.CreatedAt,
	})
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return Claimed{}, err
	}
	claimed.Before = account.KeyID{UUID: before}
	return claimed, nil
}

func mayClaim(ctx context.Context, q *db.Queries, owner *Account, address wallet.Address) error {
	switch {
	case owner.Kind != KindOwner:
		return fault.New(fault.WrongKindOfKey,
			"Only the account of an owner has agents. Sign in, or use a key of such an account.")
	case owner.Status != account.Active:
		return fault.New(fault.AccountSuspended, "")
	}
	others, err := q.CountOtherAgents(ctx, db.CountOtherAgentsParams{Account: owner.ID.UUID, Address: address[:]})
	if err != nil {
		return err
	}
	if others >= maxAgents {
		return fault.New(fault.FieldRefused,
			"The account has %d agents, which is as many as one may have. Claim with the wallet of one that is "+
				"there, which gives it a fresh key.", others)
	}
	return nil
}

// endKeyOf revokes the agent's active key, if there is one.
//
//nolint:gocritic // rows go by value
func endKeyOf(ctx context.Context, q *db.Queries, agent db.Agent, by Author) (account.KeyID, error) {
	row, err := q.LockKeyOfAgent(ctx, agent.ID)
	if errors.Is(err, pgx.ErrNoRows) {
		return account.KeyID{}, nil
	}
	if err != nil {
		return account.KeyID{}, err
	}
	return account.KeyID{UUID: row.ID}, revokeLocked(ctx, q, row, by)
}

// ListAgents reads the agents of an account, each with its active key, in the order in which they
// were claimed.
func (s *Store) ListAgents(ctx context.Context, id account.ID) ([]Agent, error) {
	rows, err := s.pool.Queries().ListAgents(ctx, id.UUID)
	if err != nil {
		return nil, fmt.Errorf("list agents of account %s: %w", id, err)
	}
	keys, err := s.pool.Queries().ListAgentKeys(ctx, id.UUID)
	if err != nil {
		return nil, fmt.Errorf("list keys of agents of account %s: %w", id, err)
	}
	of := make(map[account.AgentID]Key, len(keys))
	for _, row := range keys {
		key, err := keyOf(row)
		if err != nil {
			return nil, fmt.Errorf("list keys of agents of account %s: %w", id, err)
		}
		of[key.Agent] = key
	}
	agents := make([]Agent, len(rows))
	for i, row := range rows {
		agents[i] = agentOf(row, of[account.AgentID{UUID: row.ID}])
	}
	return agents, nil
}

// AdoptedKey is a key that an account adopted with its claim code.
type AdoptedKey struct {
	Key       Key
	AdoptedAt time.Time
}

// ListAdoptedKeys reads an account's active adopted keys, in the order of adoption.
func (s *Store) ListAdoptedKeys(ctx context.Context, id account.ID) ([]AdoptedKey, error) {
	rows, err := s.pool.Queries().ListAdoptedKeys(ctx, id.UUID)
	if err != nil {
		return nil, fmt.Errorf("list adopted keys of account %s: %w", id, err)
	}
	adopted := make([]AdoptedKey, len(rows))
	for i := range rows {
		key, err := keyOf(rows[i].Key)
		if err != nil {
			return nil, fmt.Errorf("list adopted keys of account %s: %w", id, err)
		}
		adopted[i] = AdoptedKey{key, rows[i].AdoptedAt.UTC()}
	}
	return adopted, nil
}

func agentOf(row db.Agent, key Key) Agent { //nolint:gocritic // rows go by value
	a := Agent{
		ID: account.AgentID{UUID: row.ID}, Account: account.ID{UUID: row.AccountID}, Name: row.Name,
		ClaimedVia: row.ClaimedVia, ClaimedAt: row.ClaimedAt.UTC(), Key: key,
	}
	copy(a.Address[:], row.Address)
	return a
}
