package operation

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/billing/statement"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/metering/netlimit"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/supportdb"
)

// The origins of a call, as audit lines record them.
const (
	DoorAPI     = "api"
	DoorConsole = "console"
	DoorMCP     = "mcp"
)

// Caller is what a transport knows about a caller. At most one of Bearer and Session is set.
type Caller struct {
	Door      string
	RequestID uuid.UUID
	Network   netip.Prefix // for network limits, from netlimit.NetworkOf
	Bearer    string       // API key in plaintext
	UnreadKey func() bool  // whether, without Bearer, a key came in a form that is not read; nil for no
	Session   string       // session secret
	Browser   string       // User-Agent
	// Country returns the caller's ISO 3166-1 country code for tax, or "" when it is not located.
	// nil locates nobody. It is called only when needed.
	Country func() string
	Visitor bool // a public page without a key: metered operations are limited by network instead
}

// NoKey returns the refusal of a caller without a key.
func (c *Caller) NoKey() *fault.Error { return limits.NoKey(c.UnreadKey != nil && c.UnreadKey()) }

// CountryCode returns the caller's ISO 3166-1 country code, or "" when it is not located.
func (c *Caller) CountryCode() string {
	if c.Country == nil {
		return ""
	}
	return c.Country()
}

// Call is one use of an operation after its caller was identified. Unknown fields are zero.
type Call struct {
	*Caller
	Account accountdb.Account // with its packs
	Key     accountdb.Key     // if the caller has an API key
	User    SignedIn          // if the caller signed in

	Secret       account.Key
	runner       *Runner
	Started      time.Time
	LimitSubject string        // subject of limits without a key: "key:" and the key's id, or the network
	kept         time.Duration // how long the response of a metered operation is cached
}

// Keep overrides how long the response is cached; 0 disables caching.
func (c *Call) Keep(d time.Duration) { c.kept = d }

// Author returns the author of changes for the audit log. It limits changes to the caller's
// account.
func (c *Call) Author(reason string) accountdb.Author {
	by := accountdb.Author{Origin: c.Door, Reason: reason, Within: c.Account.ID}
	switch {
	case !c.Key.ID.IsZero():
		by.Actor = "key " + c.Key.Prefix
	case !c.User.User.IsZero():
		by.Actor = c.User.User.Actor() // not the e-mail address: authors are stored in workflow histories
	}
	return by
}

// ManagementLimit is the rate limit, per key or user, of operations that cost no units
// (docs/decisions/0062).
var ManagementLimit = account.RateWindow{Limit: 60, Per: time.Minute}

// AdviceLimit is the rate limit, per network or per key sent along, shared by all free operations
// that need no key (Meta.PerNetwork).
var AdviceLimit = account.RateWindow{Limit: 60, Per: time.Minute}

// ofUsers reports whether only people who signed in have access.
func (a Access) ofUsers() bool { return a == Users || a == Owners || a == Staff }

// identify determines the caller and checks its access.
func (r *Runner) identify(ctx context.Context, c *Call, m *Meta) *fault.Error {
	switch {
	case m.Access == Everybody && m.PerNetwork:
		c.LimitSubject = r.limitSubject(ctx, c.Caller)
		return r.Limit(ctx, "advice:"+c.LimitSubject, AdviceLimit)
	case m.Access == Everybody:
		return nil
	case c.Bearer != "" && !m.Access.ofUsers():
		return r.identifyKey(ctx, c, m)
	case c.Session != "" && m.Access != KeyHolders:
		return r.identifyUser(ctx, c, m)
	case m.Access.ofUsers():
		return fault.New(fault.KeyInvalid, "This needs somebody who signed in. Sign in at %s/sign-in and try again.",
			r.deps.PublicURL)
	}
	return c.NoKey()
}

// limitSubject returns the subject that limits of operations without a key count by. It is the
// key if a valid one is sent along, so that callers behind one address do not share a limit,
// otherwise the network. Invalid keys, or keys that cannot be looked up, are ignored.
func (r *Runner) limitSubject(ctx context.Context, c *Caller) string {
	if c.Bearer != "" {
		if subject, refusal := r.deps.Limits.Identify(ctx, c.Bearer, c.Network); refusal == nil {
			return "key:" + subject.Key.String()
		}
	}
	return c.Network.String()
}

func (r *Runner) identifyKey(ctx context.Context, c *Call, m *Meta) *fault.Error {
	subject, refusal := r.deps.Limits.Identify(ctx, c.Bearer, c.Network)
	if refusal != nil {
		return refusal
	}
	c.Secret, _ = account.ParseKey(c.Bearer) // Identify has parsed it
	// Identify may be a minute behind. Keys move and end, so this reads PostgreSQL.
	key, err := r.deps.Store.LoadKey(ctx, subject.Key)
	if err == nil {
		c.Account, err = r.deps.Store.LoadAccount(ctx, key.Account)
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		return fault.New(fault.KeyInvalid, "")
	case err != nil:
		return RecordUnavailable(err)
	}
	c.Key = key
	if key.Status != account.Active {
		return c.withDoor(fault.New(fault.KeyInvalid, ""))
	}
	if c.Account.Status != account.Active && !m.OfUser {
		return c.withDoor(fault.New(fault.AccountSuspended, ""))
	}
	if refusal := r.Limit(ctx, "manage:"+key.ID.String(), ManagementLimit); refusal != nil {
		return c.withDoor(refusal)
	}
	if m.Access == Managers && !manages(&key) {
		return c.withDoor(r.managesNothing(&key))
	}
	return nil
}

// manages reports whether a key may manage its account. Only keys that the account made for itself
// may. Keys from a door, or of an agent, are held by a program that the owner did not write.
func manages(k *accountdb.Key) bool { return k.Door == account.DoorAccount && k.Agent.IsZero() }

// managesNothing refuses a key that may not manage its account, and names who may.
func (r *Runner) managesNothing(k *accountdb.Key) *fault.Error {
	kind := "was adopted"
	switch {
	case !k.Agent.IsZero():
		kind = "belongs to an agent"
	case k.Door == account.DoorPublic || k.Door == account.DoorWallet:
		return fault.New(fault.WrongKindOfKey,
			"This key was made without sign-up and manages nothing. Have an owner adopt it with its claim code at "+
				"%s/agents, or use a key that an account made.", r.deps.PublicURL)
	}
	return fault.New(fault.WrongKindOfKey,
		"This key %s and manages nothing. Ask the account's owner, who does it after signing in at %s/sign-in or "+
			"with a key that the account made at %s/keys.", kind, r.deps.PublicURL, r.deps.PublicURL)
}

// Scope returns which of the account's tickets and feedback the caller may read. Users and keys
// that manage the account read all of them. Any other key reads only its agent's or its own.
func (c *Call) Scope() supportdb.Scope {
	switch {
	case !c.Key.Agent.IsZero():
		return supportdb.Scope{UUID: c.Key.Agent.UUID}
	case !c.Key.ID.IsZero() && !manages(&c.Key):
		return supportdb.Scope{UUID: c.Key.ID.UUID}
	}
	return supportdb.Scope{}
}

// Sees returns the usage that the caller may read, with the agent's or key's id unless it is the
// whole account. It follows scope, except for door keys that nobody adopted: their holder is the
// only one of the account, so they see all of it, including earlier keys of a wallet.
func (c *Call) Sees() (statement.Scope, supportdb.Scope) {
	switch scope := c.Scope(); {
	case !c.Key.Agent.IsZero():
		return statement.OfAgent, scope
	case scope != (supportdb.Scope{}) && c.Account.Kind == accountdb.KindOwner:
		return statement.OfKey, scope
	}
	return statement.OfAccount, supportdb.Scope{}
}

// Manages reports whether the caller may manage the account: a user who signed in, or a key that
// may.
func (c *Call) Manages() bool { return c.Key.ID.IsZero() || manages(&c.Key) }

// IsPaying reports whether the caller's account has a plan that is paid for.
func (c *Call) IsPaying() bool {
	held, ok := plan.Lookup(c.Account.Plan)
	return c.Account.Custom != nil || ok && (held.MonthlyPrice > 0 || held.Kind == plan.Custom)
}

// Limit applies the named rate limit.
func (r *Runner) Limit(ctx context.Context, name string, w account.RateWindow) *fault.Error {
	taken, err := r.deps.Meter.Limit(ctx, name, w)
	if err != nil {
		return MeterUnavailable(err)
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

// LimitNetwork applies the rate limits of an action: per address, per area and for all networks
// together.
func (r *Runner) LimitNetwork(ctx context.Context, network netip.Prefix, action netlimit.Action) *fault.Error {
	return r.LimitNetworkBy(ctx, network, action, 1)
}

// LimitNetworkBy is limitNetwork for n actions at once.
func (r *Runner) LimitNetworkBy(ctx context.Context, network netip.Prefix, action netlimit.Action,
	n int64,
) *fault.Error {
	taken, err := r.deps.Networks.TakeSome(ctx, action, n, network)
	if err != nil {
		return MeterUnavailable(err)
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

// LimitStranger is limitNetwork, except for paying accounts, which are not limited by it: others
// cannot use up what they paid for.
func (r *Runner) LimitStranger(ctx context.Context, c *Call, action netlimit.Action) *fault.Error {
	if c.IsPaying() {
		return nil
	}
	return r.LimitNetwork(ctx, c.Network, action)
}

// withDoor adds the next step for the holder of a door key (docs/interface.md, 1.7, rule 2). It
// leaves the gateway's own failures (5xx) unchanged.
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
	default: // the request itself is wrong: the same key may send it corrected
	}
	return f.With("next_door", next)
}

const firstServerError = 500

const retryMeter = 2 * time.Second

// MeterUnavailable is the refusal when Redis does not answer. Nothing was done.
func MeterUnavailable(err error) *fault.Error {
	f := fault.New(fault.MeterUnreachable, "The meter did not answer, so nothing was done. Retry in a few seconds.")
	f.RetryAfter = retryMeter
	return f.Wrap(err)
}

// RetryRecord is how long a caller waits after PostgreSQL did not answer.
const RetryRecord = time.Minute

// RecordUnavailable is the refusal when PostgreSQL does not answer. Nothing was done.
func RecordUnavailable(err error) *fault.Error {
	f := fault.New(fault.DurableUnavailable,
		"The record does not answer right now, so nothing was done. Retry in a minute; the relay is not affected.")
	f.RetryAfter = RetryRecord
	return f.Wrap(err)
}

// notFound refuses an id that names nothing of the caller's account. It is the same whether or not
// the id belongs to another account.
func notFound(what string) *fault.Error {
	return fault.New(fault.NotYours, "No %s of yours has this id. List them to see what there is.", what)
}

// ToFault converts an error of a store or service into a refusal. store.ErrNotFound becomes
// notFound.
func ToFault(err error, what string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrNotFound):
		return notFound(what)
	}
	if refusal, ok := errors.AsType[*fault.Error](err); ok {
		return refusal
	}
	return RecordUnavailable(err)
}
