package keys

import (
	"context"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/agents"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store/accountdb"
)

// CreateKeyInput is the name and the cap of a new key.
type CreateKeyInput struct {
	Name              string `json:"name" minLength:"1" maxLength:"80" doc:"what the key is for; 1 to 80 characters" example:"indexer"`
	MonthlyRequestCap *int64 `json:"monthly_request_cap,omitempty" minimum:"0" maximum:"1000000000000" doc:"weighted units that the key may use in a period of its account; 0 or absent for no cap of its own"`
}

// CreatedKey is a new key. This is the only response that contains its plaintext.
type CreatedKey struct {
	ID                string      `json:"id" format:"uuid" doc:"names the key; no secret"`
	Name              string      `json:"name"`
	MonthlyRequestCap *plan.Units `json:"monthly_request_cap" nullable:"true" doc:"null for no cap of its own"`
	Prefix            string      `json:"prefix" doc:"first 12 characters, by which the key is recognised"`
	PlaintextToken    string      `json:"plaintext_token" doc:"the key; shown here and never again"`
	Note              string      `json:"note"`
}

func (h *handlers) createKey() *operation.Operation[CreateKeyInput, CreatedKey] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "create_api_key", Title: "Create an API key", Access: operation.Managers,
		Description: "Creates a further key of the account and shows it once. It costs nothing. Each repeat makes " +
			"another key, up to 1,000 active ones.",
		Fails: []fault.Reason{fault.DurableUnavailable},
	}, h.runCreateKey)
}

func (h *handlers) runCreateKey(ctx context.Context, c *operation.Call, in CreateKeyInput) (CreatedKey, error) {
	name, refusal := operation.Label("name", in.Name)
	if refusal != nil {
		return CreatedKey{}, refusal
	}
	key, made, err := h.Limits.NewKey(ctx, h.Random, c.Account.ID, name, account.Settings{
		MonthlyCap: account.Number(in.MonthlyRequestCap),
	}, c.Author("created"))
	if err != nil {
		return CreatedKey{}, operation.ToFault(err, "account")
	}
	return CreatedKey{
		ID: made.ID.String(), Name: made.Name, MonthlyRequestCap: operation.NullUnits(made.MonthlyCap),
		Prefix:         made.Prefix,
		PlaintextToken: key.Reveal(), Note: "Store the key now: it is kept nowhere and cannot be shown again.",
	}, nil
}

// ListKeysInput selects keys or agents.
type ListKeysInput struct {
	Scope string `json:"scope,omitempty" enum:"keys,agents" default:"keys" doc:"keys (default), or agents: the identities that proved a wallet"`
}

// KeyList lists the keys of an account, oldest first, including revoked ones.
type KeyList struct {
	Count  int                `json:"count"`
	Keys   []KeyView          `json:"keys" doc:"with scope keys"`
	Agents []agents.AgentView `json:"agents,omitzero" doc:"with scope agents alone, where keys is empty; adopted keys are in both"`
}

// KeyView is the public part of a key.
type KeyView struct {
	ID                string                         `json:"id" format:"uuid"`
	Name              string                         `json:"name"`
	Prefix            string                         `json:"prefix"`
	Door              account.Door                   `json:"door" enum:"public,wallet_bound,owner_adopted,account"`
	Status            account.Status                 `json:"status" enum:"active,revoked"`
	MonthlyRequestCap *plan.Units                    `json:"monthly_request_cap" nullable:"true" doc:"null for no cap of its own"`
	ServicesOff       []account.Service              `json:"services_off"`
	Caps              map[account.Service]plan.Units `json:"caps" doc:"weighted units of a period, by service"`
	Agent             string                         `json:"agent,omitempty" format:"uuid" doc:"the agent whose key it is"`
	CreatedAt         time.Time                      `json:"created_at"`
	LastUsedAt        *time.Time                     `json:"last_used_at" nullable:"true" doc:"the hour of its last recorded call, or when it was made if that is later; null for never"`
	RevokedAt         *time.Time                     `json:"revoked_at,omitempty"`
}

func (h *handlers) listKeys() *operation.Operation[ListKeysInput, KeyList] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "list_api_keys", Title: "List API keys", Access: operation.Managers, Reads: true,
		Description: "Lists the keys of the account with their fences, revoked ones too, never in plaintext. It " +
			"costs nothing.",
		Fails: []fault.Reason{fault.DurableUnavailable},
	}, h.runListKeys)
}

func (h *handlers) runListKeys(ctx context.Context, c *operation.Call, in ListKeysInput) (KeyList, error) {
	if in.Scope == "agents" {
		list, err := agents.List(ctx, h.Store, c.Account.ID)
		return KeyList{Count: list.Count, Keys: []KeyView{}, Agents: list.Agents}, err
	}
	keys, err := h.Store.ListKeys(ctx, c.Account.ID)
	if err != nil {
		return KeyList{}, operation.ToFault(err, "key")
	}
	list := KeyList{Count: len(keys), Keys: make([]KeyView, len(keys))}
	for i := range keys {
		list.Keys[i] = viewOf(&keys[i])
	}
	return list, nil
}

func viewOf(k *accountdb.Key) KeyView {
	v := KeyView{
		ID: k.ID.String(), Name: k.Name, Prefix: k.Prefix, Door: k.Door, Status: k.Status,
		MonthlyRequestCap: operation.NullUnits(k.MonthlyCap),
		ServicesOff:       append([]account.Service{}, k.Services.Off...),
		Caps:              capsOf(k.Services.Caps), CreatedAt: k.CreatedAt, LastUsedAt: operation.NullTime(lastUse(k)),
		RevokedAt: operation.NullTime(k.RevokedAt),
	}
	if !k.Agent.IsZero() {
		v.Agent = k.Agent.String()
	}
	return v
}

// RevokeKeyInput identifies a key.
type RevokeKeyInput struct {
	APIKeyID string `json:"api_key_id" format:"uuid" doc:"id of a key of the account, as list_api_keys gives it"`
}

// RevokedKey is a key that was revoked.
type RevokedKey struct {
	ID        string    `json:"id" format:"uuid"`
	Name      string    `json:"name"`
	RevokedAt time.Time `json:"revoked_at"`
}

func (h *handlers) revokeKey() *operation.Operation[RevokeKeyInput, RevokedKey] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "revoke_api_key", Title: "Revoke an API key", Access: operation.Managers,
		Description: "Ends a key for good: its calls stop before this answers, and it cannot be restored. It costs " +
			"nothing. A repeat answers the same.",
		Fails: []fault.Reason{fault.NotYours, fault.NotYetInForce, fault.DurableUnavailable},
	}, h.runRevokeKey)
}

func (h *handlers) runRevokeKey(ctx context.Context, c *operation.Call, in RevokeKeyInput) (RevokedKey, error) {
	id, refusal := operation.ParseKeyID("api_key_id", in.APIKeyID)
	if refusal != nil {
		return RevokedKey{}, refusal
	}
	k, err := h.Limits.RevokeKey(ctx, id, c.Author("revoked"))
	if err != nil {
		return RevokedKey{}, operation.ToFault(err, "key")
	}
	return RevokedKey{ID: k.ID.String(), Name: k.Name, RevokedAt: k.RevokedAt}, nil
}

// capsOf returns caps, and an empty map for nil, so that JSON never shows null.
func capsOf(caps map[account.Service]plan.Units) map[account.Service]plan.Units {
	if caps == nil {
		return map[account.Service]plan.Units{}
	}
	return caps
}

// lastUse returns the hour of a key's last recorded call, or its creation time if the key was made
// within that hour.
func lastUse(k *accountdb.Key) time.Time {
	if !k.LastUsedAt.IsZero() && k.LastUsedAt.Before(k.CreatedAt) {
		return k.CreatedAt
	}
	return k.LastUsedAt
}
