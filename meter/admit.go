package meter

import (
	"context"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/account"
	"github.com/chainaccess/gateway/internal/faultpoint"
	"github.com/chainaccess/gateway/plan"
)

// Mode says how a call takes part in the meter.
type Mode uint8

// The modes: a call to be relayed, one answered from the cache, and one that is wrong in itself.
const (
	Charge Mode = iota
	Hit
	WindowOnly
)

// Names under which usage lines record calls that were not refused; refused ones carry the reason's name.
const (
	OutcomeOK     = "ok"
	OutcomeHit    = "hit"
	OutcomeRefund = "refund"
)

// Subject is a key with everything that its admissions repeat, made once per identity.
type Subject struct {
	account.Identity
	// Digest is the key's, by which the identity is found again.
	Digest account.Digest

	shard                     int
	accountArg, keyArg        any
	cfgKey, keyKey, windowKey any
	linePrefix                string
}

// NewSubject prepares an identity for admission.
func NewSubject(id account.Identity, digest account.Digest) *Subject {
	t := accountTag(id.Account)
	return &Subject{
		Identity:   id,
		Digest:     digest,
		shard:      account.Shard(id.Account),
		accountArg: id.Account.String(),
		keyArg:     id.Key.String(),
		cfgKey:     t + "cfg:" + id.Account.String(),
		keyKey:     t + "key:" + id.Key.String(),
		windowKey:  t + "win:" + id.Account.String(),
		linePrefix: id.Key.String() + "||",
	}
}

// Call is what the meter must know of a call.
type Call struct {
	Mode    Mode
	Units   plan.Units
	Chain   string
	Service string
	Method  string // only names of the catalog: anything else would grow usage without bound
	Class   string
	Tier    string
	Reason  string // WindowOnly: the name of the fault reason
}

func (s *Subject) line(c *Call) string {
	return s.linePrefix + c.Chain + "|" + c.Service + "|" + c.Method + "|" + c.Class + "|" + c.Tier
}

// check refuses what a correct caller never passes, and what would spoil a bucket for the record: the words of a line are parted
// by bars.
func (c *Call) check(line string) error {
	switch {
	case c.Units < 0:
		return fmt.Errorf("admit: %d thousandths of units: a call never weighs less than nothing", c.Units)
	case c.Mode == WindowOnly && (c.Reason == "" || strings.Contains(c.Reason, "|")):
		return fmt.Errorf("admit: a request that is wrong in itself needs the name of its fault, not %q", c.Reason)
	case strings.Count(line, "|") != lineBars:
		return fmt.Errorf("admit: a word of usage line %q holds a bar", line)
	}
	return nil
}

// lineBars is how many bars part the words of Subject.line.
const lineBars = 6

// Admission is the meter's answer. Exactly one of Admitted, Refused, Missing and Moved says what it is.
type Admission struct {
	Admitted bool
	Receipt  Receipt

	// Refused is the name of the reason; Limit, Remaining and Reset describe the fence, Also other fences that would refuse.
	Refused          string
	Limit, Remaining int64
	Reset            time.Duration
	Also             []string

	// Missing names projections and counters that must be loaded before the call is admitted once more.
	Missing Missing
	// Moved is set when the key belongs to another account now.
	Moved bool
}

// Receipt is what a refund has to know of a charge.
type Receipt struct {
	Period string // start date
	Source string
	Day    string // days since 1970; empty when no daily allowance was drawn
}

// Missing is a set of what the meter lacks.
type Missing uint8

// What may be missing: projections, and counters that are seeded.
const (
	MissingAccount Missing = 1 << iota
	MissingKey
	MissingDay
	MissingPeriod
)

var (
	modeArgs = [...]any{Charge: "charge", Hit: "hit", WindowOnly: "window"}
	three    = any(3)
	evalSHA  = any("evalsha")
)

// Admit runs the admission script. An error means that nothing is known of the outcome (at most one charge was made) and the
// call must not be relayed. A context that ends before the script was sent ends the wait, and nothing was charged; after that the
// reply is waited for, as long as a pipeline may take.
func (m *Meter) Admit(ctx context.Context, s *Subject, c *Call) (Admission, error) {
	line := s.line(c)
	if err := c.check(line); err != nil {
		return Admission{}, err
	}
	args := []any{
		evalSHA, m.admit.Hash(), three, s.cfgKey, s.keyKey, s.windowKey,
		modeArgs[c.Mode], s.accountArg, s.keyArg, int64(c.Units), c.Reason, line, nonce(),
	}
	cmd := redis.NewCmd(ctx, args...)
	err := m.lanes.do(ctx, cmd)
	if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		// Redis forgot its scripts; the answer proves that nothing ran.
		args[0], args[1] = "eval", admitSource
		cmd = redis.NewCmd(ctx, args...)
		err = m.lanes.do(ctx, cmd)
	}
	faultpoint.Hit(faultpoint.AdmitReplied)
	if err != nil {
		return Admission{}, fmt.Errorf("admit: %w", err)
	}
	reply, err := cmd.Text()
	if err != nil {
		return Admission{}, fmt.Errorf("admit: unexpected reply: %w", err)
	}
	return parseAdmission(reply)
}

func parseAdmission(reply string) (Admission, error) {
	verdict, rest, _ := strings.Cut(reply, "|")
	switch verdict {
	case "0":
		var r Receipt
		r.Period, rest, _ = strings.Cut(rest, "|")
		r.Source, r.Day, _ = strings.Cut(rest, "|")
		return Admission{Admitted: true, Receipt: r}, nil
	case "1":
		return parseRefusal(rest)
	case "2":
		return Admission{Missing: parseMissing(rest)}, nil
	case "3":
		return Admission{Moved: true}, nil
	}
	return Admission{}, fmt.Errorf("admit: unexpected reply %q", reply)
}

func parseRefusal(rest string) (Admission, error) {
	parts := strings.SplitN(rest, "|", 5)
	if len(parts) != 5 {
		return Admission{}, fmt.Errorf("admit: unexpected refusal %q", rest)
	}
	a := Admission{Refused: parts[0]}
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
		a.Also = strings.Split(parts[4], ",")
	}
	return a, nil
}

func parseMissing(rest string) Missing {
	var m Missing
	for what := range strings.SplitSeq(rest, ",") {
		switch what {
		case "cfg":
			m |= MissingAccount
		case "key":
			m |= MissingKey
		case "day":
			m |= MissingDay
		case "period":
			m |= MissingPeriod
		}
	}
	return m
}

// Refund gives back a charge whose answer the service failed to give, to the counters it came from, once per request id and
// batch index however often it is called. reason is the name of the fault that the client was answered with.
func (m *Meter) Refund(ctx context.Context, s *Subject, c *Call, r Receipt, request, reason string) error {
	if c.Units < 0 {
		return fmt.Errorf("refund: %d thousandths of units: a charge is never negative", c.Units)
	}
	keys := []string{accountTag(s.Account) + "rf:" + request}
	err := m.run(ctx, m.settle, keys, s.accountArg, s.keyArg, int64(c.Units), r.Period, r.Source, r.Day,
		s.line(c), reason, nonce()).Err()
	faultpoint.Hit(faultpoint.RefundReplied)
	if err != nil {
		return fmt.Errorf("refund: %w", err)
	}
	return nil
}

// nonce is random, not secret: two buckets of one slot and account must differ even when Redis lost everything in between.
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
