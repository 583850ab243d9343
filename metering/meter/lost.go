package meter

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/identity/account"
)

// LostError reports an admission whose reply was lost.
type LostError struct {
	Call account.LostCall

	cause error
}

func (e *LostError) Error() string { return e.cause.Error() }

// Unwrap returns the error of the connection.
func (e *LostError) Unwrap() error { return e.cause }

func lostError(s *Subject, c *Call, cmd *redis.Cmd, cause error) *LostError {
	const nonceArg = 12
	args := cmd.Args()
	id, _ := args[nonceArg].(string)
	notAfter, _ := args[notAfterArg].(int64)
	mark, _ := args[markArg].(string)
	return &LostError{cause: cause, Call: account.LostCall{
		Nonce: id, Account: s.Account, Key: s.Key, Units: c.Units, Service: c.Service, Line: s.line(c), Mark: mark,
		NotAfter: time.UnixMilli(notAfter).UTC(),
	}}
}

// Reclaimed is what became of a lost call.
type Reclaimed int

// The results of Reclaim, as refund.lua returns them.
const (
	NotCharged Reclaimed = iota // or refunded before
	GivenBack
	Undecided // it may still run; retry later
	Forgotten // it is hours ago, and its mark has expired
)

// FailedRefund returns the lost call of a refund that failed: Reclaim makes that refund, unless it
// was made after all. The arguments are those of Refund.
func FailedRefund(s *Subject, c *Call, r Receipt, request, reason string) account.LostCall {
	slot, _ := strconv.ParseInt(r.Slot, 10, 64) // of a receipt, always a number
	return account.LostCall{
		Nonce: request, Account: s.Account, Key: s.Key, Units: c.Units, Service: c.Service, Line: s.line(c),
		NotAfter: time.Unix(slot, 0).UTC(), Charge: account.LostCharge{
			Period: r.Period, Sources: r.Sources, Slot: r.Slot, Reason: reason,
		},
	}
}

// Reclaim refunds the charge of a lost call if there was one. It is idempotent. reason is the name
// of the fault that the client was answered with when the reply was lost.
func (m *Meter) Reclaim(ctx context.Context, l *account.LostCall, reason string) (Reclaimed, error) {
	keys := []string{accountTag(l.Account) + "rf:" + l.Nonce}
	if l.Charge.Reason != "" {
		reason = l.Charge.Reason
	}
	reply, err := m.run(ctx, m.refund, keys, l.Account.String(), l.Key.String(), int64(l.Units), l.Charge.Period,
		l.Charge.Sources, l.Charge.Slot, l.Line, reason, nonce(), serviceArg(l.Service), l.Mark, l.Nonce,
		l.NotAfter.UnixMilli()).Int()
	if err != nil {
		return Undecided, fmt.Errorf("reclaim a lost call: %w", err)
	}
	return Reclaimed(reply), nil
}
