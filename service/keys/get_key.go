package keys

import (
	"context"
	"net/http"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/netlimit"
	"github.com/chainaccess/gateway/service/operation"
)

// KeysPerDay is how many anonymous keys one network address may make per UTC day
// (docs/interface.md, 2.3).
const KeysPerDay = 3

// GetKeyInput is empty: anonymous keys require no input.
type GetKeyInput struct{}

func (h *handlers) getKey() *operation.Operation[GetKeyInput, Welcome] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "get_key", Title: "Make a key without sign-up", Access: operation.Everybody,
		Route: operation.Route{Method: http.MethodPost, Path: "/keys", Status: http.StatusCreated},
		Description: "Makes an anonymous API key, shown once. It costs nothing and lets 10,000 weighted units " +
			"through each UTC day. One network address may make three a day; each repeat makes another key.",
		Fails: []fault.Reason{fault.NewKeyQuota, fault.MeterUnreachable, fault.DurableUnavailable},
	}, h.runGetKey)
}

// runGetKey counts the key against the network's quota first and returns the quota if no key was
// made. Only a crash in between costs the visitor one of three.
func (h *handlers) runGetKey(ctx context.Context, c *operation.Call, _ GetKeyInput) (Welcome, error) {
	taken, err := h.Networks.Take(ctx, netlimit.NewKeys, c.Network)
	if err != nil {
		return Welcome{}, operation.MeterUnavailable(err)
	}
	if !taken.OK() {
		ways := h.Doorways.For(account.DoorPublic, account.ClaimCode{})
		delete(ways, "adopt") // there is no key to adopt
		delete(ways, "bind")
		ways["wait"] = Doorway{
			Past: "keys_per_address_and_day", Do: "Wait until 00:00 UTC, when keys count anew.",
			At: h.Doorways.midnight(taken.Reset), Open: true,
		}
		f := noMoreKeys(&taken).With("doorways", ways)
		f.RetryAfter = taken.Reset
		f.Window = &fault.Window{Limit: taken.Limit, Reset: taken.Reset}
		return Welcome{}, f
	}
	key, err := h.Limits.NewDoorKey(ctx, h.Random)
	if err != nil {
		h.giveBackKey(ctx, taken)
		f := fault.New(fault.DurableUnavailable,
			"No key could be made right now. Retry in a minute; it does not count against your address.")
		f.RetryAfter = operation.RetryRecord
		return Welcome{}, f.Wrap(err)
	}
	w := h.Doorways.Welcome(key.Prefix(), account.DoorPublic, key.ClaimCode(h.Hasher))
	w.Key = key.Reveal()
	wait := w.Doorways["wait"]
	wait.At = h.Doorways.midnight(taken.Reset)
	w.Doorways["wait"] = wait
	if taken.Left > 0 {
		w.Doorways["another_key"] = h.Doorways.anotherKey(taken.Left)
	}
	return w, nil
}

// noMoreKeys returns the refusal that names whose quota of new keys is used up.
func noMoreKeys(taken *netlimit.Taken) *fault.Error {
	if taken.Refused == netlimit.Address {
		return fault.New(fault.NewKeyQuota, "")
	}
	return fault.New(fault.NewKeyQuota,
		"As many keys as may be made in a UTC day were made from %s. Take one of the doorways in data.doorways.",
		taken.Whose())
}

const giveBackTimeout = 2 * time.Second

// giveBackKey returns the quota of a key that was not made, even if the client is gone.
func (h *handlers) giveBackKey(ctx context.Context, taken netlimit.Taken) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackTimeout)
	defer cancel()
	if err := h.Networks.ReturnQuota(ctx, taken); err != nil {
		h.Logger.Warn("a new-key count could not be given back", "error", err)
	}
}
