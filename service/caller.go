package service

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/billing/statement"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/netlimit"
	"github.com/chainaccess/gateway/store"
)

// The doors, as audit lines name them.
const (
	DoorAPI     = "api"
	DoorConsole = "console"
	DoorMCP     = "mcp"
)

// Caller is who a door says is calling. At most one of Bearer and Session is set.
type Caller struct {
	Door      string
	RequestID uuid.UUID
	Network   netip.Prefix // that limits go by, as netlimit.NetworkOf gives it
	Bearer    string       // an API key in plaintext
	Session   string       // a session's secret
	Browser   string       // what the caller's program calls itself
	// Country returns the ISO 3166-1 code of where the caller is, for tax; empty when not located.
	// Nil locates nobody. It is asked only by what needs it.
	Country func() string
	Visitor bool // somebody without a key on a public page: metered operations are limited by network instead
}

// country is where the caller is, as an ISO 3166-1 code; empty when not located.
func (c *Caller) country() string {
	if c.Country == nil {
		return ""
	}
	return c.Country()
}

// Call is one use of an operation, once its caller is known. What is not known stays zero.
type Call struct {
	*Caller
	Account store.Account // with its packs
	Key     store.Key     // of a caller with an API key
	User    SignedIn      // of a caller who signed in

	secret  account.Key
	house   *service
	started time.Time
	crowd   string        // whom a key-free use is counted by: "key:" and its id, or the network
	kept    time.Duration // how long the answer of a metered operation is kept
}

// keep has the answer kept for another time than the operation's own; 0 does not keep it.
func (c *Call) keep(d time.Duration) { c.kept = d }

// author signs changes in the audit log, and bounds them to the caller's account.
func (c *Call) author(reason string) store.Author {
	by := store.Author{Origin: c.Door, Reason: reason, Within: c.Account.ID}
	switch {
	case !c.Key.ID.IsZero():
		by.Actor = "key " + c.Key.Prefix
	case !c.User.User.IsZero():
		by.Actor = c.User.User.Actor() // no address: authors travel through durable workflows
	}
	return by
}

// ManagementLimit is how often a key or a user may use operations that cost no units
// (docs/decisions/0062).
var ManagementLimit = account.RateWindow{Limit: 60, Per: time.Minute}

// AdviceLimit is how often one network, or a key that comes along, may use what needs no key and
// costs nothing (Meta.PerNetwork), all of it together.
var AdviceLimit = account.RateWindow{Limit: 60, Per: time.Minute}

// ofUsers reports whether only people who signed in may.
func (a Access) ofUsers() bool { return a == Users || a == Owners || a == Staff }

// identify finds out who calls and whether they may.
func (h *service) identify(ctx context.Context, c *Call, m *Meta) *fault.Error {
	switch {
	case m.Access == Everybody && m.PerNetwork:
		c.crowd = h.crowdOf(ctx, c.Caller)
		return h.limit(ctx, "advice:"+c.crowd, AdviceLimit)
	case m.Access == Everybody:
		return nil
	case c.Bearer != "" && !m.Access.ofUsers():
		return h.identifyKey(ctx, c, m)
	case c.Session != "" && m.Access != KeyHolders:
		return h.identifyUser(ctx, c, m)
	case m.Access.ofUsers():
		return fault.New(fault.KeyInvalid, "This needs somebody who signed in. Sign in at %s/sign-in and try again.",
			h.PublicURL)
	}
	return fault.New(fault.KeyInvalid, "")
}

// crowdOf is by whom a key-free use is counted: by the key that comes along, so that callers who
// share an address do not use up each other's limit, else by the network. Keys that are none, or
// cannot be looked up, change nothing: nothing here needs one.
func (h *service) crowdOf(ctx context.Context, c *Caller) string {
	if c.Bearer != "" {
		if subject, refusal := h.Limits.Identify(ctx, c.Bearer, c.Network); refusal == nil {
			return "key:" + subject.Key.String()
		}
	}
	return c.Network.String()
}

func (h *service) identifyKey(ctx context.Context, c *Call, m *Meta) *fault.Error {
	subject, refusal := h.Limits.Identify(ctx, c.Bearer, c.Network)
	if refusal != nil {
		return refusal
	}
	c.secret, _ = account.ParseKey(c.Bearer) // Identify has parsed it
	// What Identify remembers may be a minute old; keys move and end, so this asks the record.
	key, err := h.Store.LoadKey(ctx, subject.Key)
	if err == nil {
		c.Account, err = h.Store.LoadAccount(ctx, key.Account)
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		return fault.New(fault.KeyInvalid, "")
	case err != nil:
		return recordAway(err)
	}
	c.Key = key
	if key.Status != account.Active {
		return c.withDoor(fault.New(fault.KeyInvalid, ""))
	}
	if c.Account.Status != account.Active && !m.OfUser {
		return c.withDoor(fault.New(fault.AccountSuspended, ""))
	}
	if refusal := h.limit(ctx, "manage:"+key.ID.String(), ManagementLimit); refusal != nil {
		return c.withDoor(refusal)
	}
	if m.Access == Managers && !manages(&key) {
		return c.withDoor(h.managesNothing(&key))
	}
	return nil
}

// manages reports whether a key may manage its account: one that the account made for itself. Keys
// that came through a door, or belong to an agent, are in the hands of a program that the owner did
// not write.
func manages(k *store.Key) bool { return k.Door == account.DoorAccount && k.Agent.IsZero() }

// managesNothing refuses a key that does not manage its account, and says who does.
func (h *service) managesNothing(k *store.Key) *fault.Error {
	kind := "was adopted"
	switch {
	case !k.Agent.IsZero():
		kind = "belongs to an agent"
	case k.Door == account.DoorPublic || k.Door == account.DoorWallet:
		return fault.New(fault.WrongKindOfKey,
			"This key was made without sign-up and manages nothing. Have an owner adopt it with its claim code at "+
				"%s/agents, or use a key that an account made.", h.PublicURL)
	}
	return fault.New(fault.WrongKindOfKey,
		"This key %s and manages nothing. Ask the account's owner, who does it after signing in at %s/sign-in or "+
			"with a key that the account made at %s/keys.", kind, h.PublicURL, h.PublicURL)
}

// scope is what of the account's tickets and feedback the caller finds. Users and keys that manage
// it find all; any other key is in the hands of a program that the owner did not write, and finds
// its agent's or its own.
func (c *Call) scope() store.Scope {
	switch {
	case !c.Key.Agent.IsZero():
		return store.Scope{UUID: c.Key.Agent.UUID}
	case !c.Key.ID.IsZero() && !manages(&c.Key):
		return store.Scope{UUID: c.Key.ID.UUID}
	}
	return store.Scope{}
}

// sees is whose usage the caller sees, and the id of it unless that is the account. It goes by
// scope, but for keys of doors that nobody adopted: nobody else holds their account, so all of it
// is theirs, a wallet's keys of before included.
func (c *Call) sees() (statement.Scope, store.Scope) {
	switch scope := c.scope(); {
	case !c.Key.Agent.IsZero():
		return statement.OfAgent, scope
	case scope != (store.Scope{}) && c.Account.Kind == store.KindOwner:
		return statement.OfKey, scope
	}
	return statement.OfAccount, store.Scope{}
}

// manages reports whether the caller may manage the account: somebody who signed in, or a key that
// may.
func (c *Call) manages() bool { return c.Key.ID.IsZero() || manages(&c.Key) }

// limit lets a call through a limit by name.
func (h *service) limit(ctx context.Context, name string, w account.RateWindow) *fault.Error {
	taken, err := h.Meter.Limit(ctx, name, w)
	if err != nil {
		return meterAway(err)
	}
	if taken.OK {
		return nil
	}
	f := fault.New(fault.RateWindow, "Too many requests of this kind. Wait %d s and try again.",
		int64((taken.Wait+time.Second-1)/time.Second))
	f.RetryAfter = taken.Wait
	f.Window = &fault.Window{Limit: w.Limit, Reset: taken.Reset}
	return f
}

// limitNetwork lets an action of a network through the bounds of its address, its area and all
// together.
func (h *service) limitNetwork(ctx context.Context, network netip.Prefix, action netlimit.Action) *fault.Error {
	return h.limitNetworkBy(ctx, network, action, 1)
}

// limitNetworkBy is limitNetwork for n of an action at once.
func (h *service) limitNetworkBy(ctx context.Context, network netip.Prefix, action netlimit.Action,
	n int64,
) *fault.Error {
	taken, err := h.Networks.TakeSome(ctx, action, n, network)
	if err != nil {
		return meterAway(err)
	}
	if taken.OK() {
		return nil
	}
	f := fault.New(fault.RateWindow, "Too many requests of this kind from %s. Wait %d s and try again.", taken.Whose(),
		int64((taken.Wait+time.Second-1)/time.Second))
	f.RetryAfter = taken.Wait
	f.Window = &fault.Window{Limit: taken.Limit, Reset: taken.Reset}
	return f
}

// limitStranger is limitNetwork for what paying accounts may always do: nobody can use up what they
// have.
func (h *service) limitStranger(ctx context.Context, c *Call, action netlimit.Action) *fault.Error {
	if isPaying(&c.Account) {
		return nil
	}
	return h.limitNetwork(ctx, c.Network, action)
}

// withDoor tells the holder of a door key what to do next (docs/interface.md, 1.7, rule
// 2). The service's own failures are no doors.
func (c *Call) withDoor(f *fault.Error) *fault.Error {
	if f == nil || (c.Key.Door != account.DoorPublic && c.Key.Door != account.DoorWallet) ||
		f.HTTP() >= firstServerError {
		return f
	}
	if _, told := f.Data["next_door"]; told {
		return f
	}
	next := map[string]string{"door": "same_key", "do": f.Reason.Entry().Steps[0]}
	switch f.Reason {
	case fault.WrongKindOfKey:
		next = map[string]string{
			"door": "adopt", "do": "Have an owner adopt this key, or manage keys from an account.",
			"where": "POST /agents/adopt",
		}
	case fault.KeyInvalid:
		next = map[string]string{"door": "new_key", "do": "Make a new key without sign-up.", "where": "POST /keys"}
	case fault.AccountSuspended:
		next["where"] = "/support/new?request_id=" + c.RequestID.String()
	default: // the request itself: the same key may send it corrected
	}
	return f.With("next_door", next)
}

const firstServerError = 500

const retryMeter = 2 * time.Second

func meterAway(err error) *fault.Error {
	f := fault.New(fault.MeterUnreachable, "The meter did not answer, so nothing was done. Retry in a few seconds.")
	f.RetryAfter = retryMeter
	return f.Wrap(err)
}

const retryRecord = time.Minute

// recordAway is for a record that does not answer. Nothing was done.
func recordAway(err error) *fault.Error {
	f := fault.New(fault.DurableUnavailable,
		"The record does not answer right now, so nothing was done. Retry in a minute; the relay is not affected.")
	f.RetryAfter = retryRecord
	return f.Wrap(err)
}

// notFound is for ids that name nothing of the caller's account, whether or not they name something
// of another's.
func notFound(what string) *fault.Error {
	return fault.New(fault.NotYours, "No %s of yours has this id. List them to see what there is.", what)
}

// toFault turns an error of what an operation works with into a refusal: what is not found is not
// the caller's.
func toFault(err error, what string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrNotFound):
		return notFound(what)
	}
	if refusal, ok := errors.AsType[*fault.Error](err); ok {
		return refusal
	}
	return recordAway(err)
}
