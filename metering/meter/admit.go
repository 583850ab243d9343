package meter

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/faultpoint"
	"github.com/chainaccess/gateway/metering/plan"
)

// Mode is how a call is metered.
type Mode uint8

// The modes: a call to be relayed, one answered from the cache, and a request that is invalid.
const (
	Charge Mode = iota
	Hit
	WindowOnly
)

// Outcomes of usage lines whose call was not refused. A refused call's outcome is the name of the
// reason.
const (
	OutcomeOK     = "ok"
	OutcomeHit    = "hit"
	OutcomeRefund = "refund"
)

// Subject is a key with the arguments that all its admissions share. It is made once per identity.
type Subject struct {
	account.Identity
	// Digest is the key's digest, with which its identity is read again.
	Digest account.Digest

	shard                     int
	accountArg, keyArg        any
	cfgKey, keyKey, windowKey any
	linePrefix                string
}

// NewSubject prepares an identity for admission.
func NewSubject(id account.Identity, digest account.Digest) *Subject {
	t := accountTag(id.Account)
	var agent string
	if !id.Agent.IsZero() {
		agent = id.Agent.String()
	}
	return &Subject{
		Identity:   id,
		Digest:     digest,
		shard:      account.Shard(id.Account),
		accountArg: id.Account.String(),
		keyArg:     id.Key.String(),
		cfgKey:     t + "cfg:" + id.Account.String(),
		keyKey:     t + "key:" + id.Key.String(),
		windowKey:  t + "win:" + id.Account.String(),
		linePrefix: id.Key.String() + "|" + agent + "|",
	}
}

// Call describes one call to the meter.
type Call struct {
	Mode    Mode
	Units   plan.Units
	Chain   string
	Service string
	Method  string // names of the catalog only, so that usage stays bounded
	Class   string
	Tier    string
	Reason  string // WindowOnly: the name of the fault reason
}

func (s *Subject) line(c *Call) string {
	return s.linePrefix + c.Chain + "|" + c.Service + "|" + c.Method + "|" + c.Class + "|" + c.Tier
}

// check refuses what a correct caller never passes: units out of range, and words that would
// corrupt a usage line, whose separator is a vertical bar.
func (c *Call) check(line string) error {
	switch {
	case c.Units < 0 || c.Units > maxUnits:
		return fmt.Errorf("admit: %d thousandths of units: a call weighs from nothing to %d", c.Units, maxUnits)
	case c.Mode == WindowOnly && (c.Reason == "" || strings.Contains(c.Reason, "|")):
		return fmt.Errorf("admit: a request that is wrong in itself needs the name of its fault, not %q", c.Reason)
	case strings.Count(line, "|") != lineBars:
		return fmt.Errorf("admit: a word of usage line %q holds a bar", line)
	}
	return nil
}

// maxUnits bounds the weight of one call, far above every weight of the catalog: a mistake in a
// weight must not raise a counter above 2^53, up to which the scripts' numbers are exact.
const maxUnits = 1_000_000 * plan.Unit

// lineBars is the number of separators in Subject.line.
const lineBars = 6

// Admission is the meter's answer. It is exactly one of Admitted, Refused, Missing and Moved.
type Admission struct {
	Admitted bool
	Receipt  Receipt
	// Supply is the class of upstreams that may serve an admitted call: the plan's, or premium when
	// the call draws from a pack.
	Supply plan.Supply

	// Refused is the name of the reason, and Scope whose limit it is. Limit, Remaining and Reset
	// describe the limit; Also lists the other limits that would refuse. For an admitted call they
	// describe the rate window after it, and Reset is when its current bucket ends; a Limit of 0
	// means no window.
	Refused          string
	Scope            Scope
	Limit, Remaining int64
	Reset            time.Duration
	Also             []Refusal

	// Missing lists what must be loaded before the call is admitted again, as admit.lua names it.
	Missing []string
	// Period and At are the period and the instant of the missing counters, by the meter's limits
	// and clock.
	Period string
	At     time.Time
	// Moved reports whether the key belongs to another account now.
	Moved bool
}

// Scope is whose limit refused, where an account and its key may both have one.
type Scope string

// The scopes.
const (
	ScopeAccount Scope = "account"
	ScopeKey     Scope = "key"
)

// Refusal names a limit that refuses.
type Refusal struct {
	Reason string
	Scope  Scope // empty where only one of them can have the limit
}

// Receipt is what a refund must know of a charge.
type Receipt struct {
	Period  string // start date
	Sources string // account.SourcePlan when all is from the plan, or source=thousandths,…
	Slot    string // of the charge's usage line, seconds since 1970
}

// FromPack reports whether any unit was drawn from a pack.
func (r Receipt) FromPack() bool { return r.Sources != account.SourcePlan && r.Sources != "" }

// Projections that Admission.Missing may name. Every other entry is a counter: see
// Admission.CounterOf.
const (
	MissingAccount = "cfg"
	MissingKey     = "key"
)

// CounterOf returns the counter that an entry of Missing names, for a call of a key. It reports
// false for an entry that it does not know.
func (a *Admission) CounterOf(missing string, key account.KeyID, service string) (account.Counter, bool) {
	period := a.Period
	switch missing {
	case "plan":
		return account.Counter{Period: period, Source: account.SourcePlan}, true
	case "service":
		return account.Counter{Period: period, Service: service}, true
	case "key_units":
		return account.Counter{Period: period, Key: key}, true
	case "key_service":
		return account.Counter{Period: period, Key: key, Service: service}, true
	case "day":
		return account.Counter{Day: a.At, Key: key}, true
	}
	if _, ok := account.PackOf(missing); ok {
		return account.Counter{Source: missing}, true
	}
	return account.Counter{}, false
}

var (
	modeArgs = [...]any{Charge: "charge", Hit: "hit", WindowOnly: "window"}
	three    = any(3)
	evalSHA  = any("evalsha")
)

// lateReply is admit.lua's reply when a call ran after its deadline.
const lateReply = "5"

// errLate is returned when a call ran after its deadline twice. Nothing was charged.
var errLate = errors.New("admit: Redis came to the call only after its time was over, so nothing was charged")

// Admit runs the admission script. With an error the call must not be relayed. A *LostError means
// that it may have been charged once and must be reclaimed; with any other error nothing was
// charged. The end of ctx ends the wait only until the script is sent; the reply is then waited
// for, for at most pipelineTime.
func (m *Meter) Admit(ctx context.Context, s *Subject, c *Call) (Admission, error) {
	if m.evicts.Load() != nil {
		return Admission{}, ErrEvicts
	}
	line := s.line(c)
	if err := c.check(line); err != nil {
		return Admission{}, err
	}
	id := nonce()
	args := []any{
		evalSHA, m.admit.Hash(), three, s.cfgKey, s.keyKey, s.windowKey,
		modeArgs[c.Mode], s.accountArg, s.keyArg, int64(c.Units), c.Reason, line, id, serviceArg(c.Service), nil, nil,
	}
	for range 2 { // the clock is read again before the retry
		cmd := redis.NewCmd(ctx, args...)
		err := m.scripts.do(ctx, cmd, s.shard)
		if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
			// Redis forgot its scripts; the answer proves that nothing ran.
			args[0], args[1] = "eval", admitSource
			cmd = redis.NewCmd(ctx, args...)
			err = m.scripts.do(ctx, cmd, s.shard)
		}
		faultpoint.Hit(faultpoint.AdmitReplied)
		if err != nil {
			err = fmt.Errorf("admit: %w", err)
			if errors.Is(err, errLost) && c.Mode == Charge {
				return Admission{}, lostError(s, c, cmd, err)
			}
			return Admission{}, err
		}
		reply, err := cmd.Text()
		if err != nil {
			return Admission{}, fmt.Errorf("admit: unexpected reply: %w", err)
		}
		if reply != lateReply {
			return parseAdmission(reply)
		}
	}
	return Admission{}, errLate
}

func parseAdmission(reply string) (Admission, error) {
	verdict, rest, _ := strings.Cut(reply, "|")
	switch verdict {
	case "0", "4":
		a := Admission{Admitted: true, Supply: plan.Public}
		a.Receipt.Period, rest, _ = strings.Cut(rest, "|")
		var window string
		a.Receipt.Sources, rest, _ = strings.Cut(rest, "|")
		a.Receipt.Slot, window, _ = strings.Cut(rest, "|")
		if verdict == "4" || a.Receipt.FromPack() {
			a.Supply = plan.Premium
		}
		if window != "" && !a.window(window) {
			return Admission{}, fmt.Errorf("admit: unexpected reply %q", reply)
		}
		return a, nil
	case "1":
		return parseRefusal(rest)
	case "2":
		return parseMissing(rest)
	case "3":
		return Admission{Moved: true}, nil
	}
	return Admission{}, fmt.Errorf("admit: unexpected reply %q", reply)
}

// window parses limit, remaining and ms until the reset. It reports false for anything else.
func (a *Admission) window(text string) bool {
	limit, rest, _ := strings.Cut(text, "|")
	left, reset, _ := strings.Cut(rest, "|")
	var ms int64
	var wrong [3]error
	a.Limit, wrong[0] = strconv.ParseInt(limit, 10, 64)
	a.Remaining, wrong[1] = strconv.ParseInt(left, 10, 64)
	ms, wrong[2] = strconv.ParseInt(reset, 10, 64)
	a.Reset = time.Duration(ms) * time.Millisecond
	return wrong == [3]error{}
}

func parseMissing(rest string) (Admission, error) {
	parts := strings.SplitN(rest, "|", 3)
	if len(parts) != 3 {
		return Admission{}, fmt.Errorf("admit: unexpected reply %q of what is missing", rest)
	}
	a := Admission{Period: parts[0], Missing: strings.Split(strings.TrimSuffix(parts[2], ","), ",")}
	if parts[1] != "" {
		ms, err := strconv.ParseInt(parts[1], 10, 64)
		if err != nil {
			return Admission{}, fmt.Errorf("admit: unexpected reply %q of what is missing", rest)
		}
		a.At = time.UnixMilli(ms).UTC()
	}
	return a, nil
}

func parseRefusal(rest string) (Admission, error) {
	parts := strings.SplitN(rest, "|", 6)
	if len(parts) != 6 {
		return Admission{}, fmt.Errorf("admit: unexpected refusal %q", rest)
	}
	a := Admission{Refused: parts[0], Scope: Scope(parts[5])}
	var numbers [3]int64
	for i := range numbers {
		n, err := strconv.ParseInt(parts[i+1], 10, 64)
		if err != nil {
			return Admission{}, fmt.Errorf("admit: unexpected refusal %q", rest)
		}
		numbers[i] = n
	}
	a.Limit, a.Remaining, a.Reset = numbers[0], numbers[1], time.Duration(numbers[2])*time.Millisecond
	if parts[4] != "" {
		for other := range strings.SplitSeq(parts[4], ",") {
			reason, scope, _ := strings.Cut(other, ":")
			a.Also = append(a.Also, Refusal{reason, Scope(scope)})
		}
	}
	return a, nil
}

// repliedGuard is how long a refund stays guarded after its reply: nobody retries it any more, but
// an earlier try may still be on its way.
const repliedGuard = 5 * time.Minute

// Refund returns a charge that the service failed to serve to the counters it came from. It is
// idempotent per request, which is a request id with the index in its batch. reason is the name of
// the fault that the client was answered with.
func (m *Meter) Refund(ctx context.Context, s *Subject, c *Call, r Receipt, request, reason string) error {
	if c.Units < 0 {
		return fmt.Errorf("refund: %d thousandths of units: a charge is never negative", c.Units)
	}
	keys := []string{accountTag(s.Account) + "rf:" + request}
	err := m.run(ctx, m.refund, keys, s.accountArg, s.keyArg, int64(c.Units), r.Period, r.Sources, r.Slot,
		s.line(c), reason, nonce(), serviceArg(c.Service)).Err()
	faultpoint.Hit(faultpoint.RefundReplied)
	if err != nil {
		return fmt.Errorf("refund: %w", err)
	}
	m.rdb.Expire(ctx, keys[0], repliedGuard) // if this fails, the guard stays for GUARD_SECONDS of refund.lua
	return nil
}

// serviceArgs are the services as scripts name them, allocated once.
var serviceArgs = func() map[string]any {
	all := make(map[string]any)
	for _, s := range account.Services() {
		all[string(s)] = serviceField(string(s))
	}
	return all
}()

func serviceArg(service string) any {
	if arg, ok := serviceArgs[service]; ok {
		return arg
	}
	return serviceField(service)
}

// firstToken returns a random first flush token for a shard, so that it differs from every earlier
// one.
func firstToken() int64 {
	return int64(rand.Uint64() >> 12) //nolint:gosec // uniqueness, not secrecy; 52 bits stay exact in scripts
}

// nonce returns 16 random hex digits. They are not secret: they distinguish two buckets of one slot
// and account even when Redis lost everything in between.
func nonce() string {
	var b [8]byte
	n := rand.Uint64() //nolint:gosec // uniqueness, not secrecy
	for i := range b {
		b[i] = byte(n >> (8 * i))
	}
	var out [16]byte
	hex.Encode(out[:], b[:])
	return string(out[:])
}
