package relay

import (
	"net/http"
	"strconv"
	"time"

	"github.com/chainaccess/gateway/account"
	"github.com/chainaccess/gateway/fault"
	"github.com/chainaccess/gateway/meter"
)

// withNextDoor tells the holder of a door key what to do next, and where. The service's own failures are no doors.
func withNextDoor(s *meter.Subject, f *fault.Error) *fault.Error {
	if s == nil || (s.Door != account.DoorPublic && s.Door != account.DoorWallet) || f.HTTP() >= http.StatusInternalServerError {
		return f
	}
	return f.With("next_door", nextDoor(f))
}

func nextDoor(f *fault.Error) map[string]string {
	switch f.Reason {
	case fault.RateWindow:
		return map[string]string{"door": "wait", "do": "Wait " + seconds(f.RetryAfter) + " s, then keep to " + limit(f) + " requests per second with this key."}
	case fault.DoorKeyDay:
		return map[string]string{"door": "wait", "do": "Wait " + seconds(f.RetryAfter) + " s until 00:00 UTC, when this key has " + limit(f) + " units again."}
	case fault.PlanQuota:
		return map[string]string{"door": "wait", "do": "Wait " + seconds(f.RetryAfter) + " s until the month ends, when this key has " + limit(f) + " units again."}
	case fault.KeyInvalid:
		return map[string]string{"door": "new_key", "do": "Make a new key without sign-up.", "where": "POST /keys"}
	default:
		return map[string]string{"door": "same_key", "do": f.Reason.Entry().Steps[0]}
	}
}

func limit(f *fault.Error) string {
	if f.Window == nil {
		return "its"
	}
	return strconv.FormatInt(f.Window.Limit, 10)
}

func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}
