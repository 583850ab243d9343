package api

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/chainaccess/gateway/account"
	"github.com/chainaccess/gateway/fault"
	"github.com/chainaccess/gateway/meter"
	"github.com/chainaccess/gateway/plan"
)

// keysPerDay is how many anonymous keys one network address may make in a UTC day (interface document 2, section 3).
const keysPerDay = 3

// welcome is the body that comes with a new key. The key stands here once and nowhere else.
type welcome struct {
	Key       string             `json:"key"`
	KeyPrefix string             `json:"key_prefix"`
	Door      account.Door       `json:"door"`
	Fences    doorFences         `json:"fences"`
	Doorways  map[string]doorway `json:"doorways"`
}

// doorFences are the limits of a door key.
type doorFences struct {
	UnitsPerDay       plan.Units  `json:"units_per_day"`
	RequestsPerSecond int64       `json:"requests_per_second"`
	KeysPerAddressDay int         `json:"keys_per_address_and_day"`
	Supply            plan.Supply `json:"supply"`
}

// doorway is a way past a limit: what to do, and where.
type doorway struct {
	Past string `json:"past"`
	Do   string `json:"do"`
	At   string `json:"at,omitempty"`
}

// newKey is POST /keys: the anonymous door. The address's count is taken first and given back when no key was made, so that at
// most a crash between the two costs the visitor one of three.
func (s *server) newKey(c *gin.Context) {
	ctx := c.Request.Context()
	network := clientNetwork(c.Request, s.TrustedProxies)
	taken, err := s.Meter.TakeDaily(ctx, "newkeys:"+network.String(), keysPerDay)
	if err != nil {
		s.refuse(c, meterUnreachable(err))
		return
	}
	if !taken.OK {
		f := fault.New(fault.NewKeyQuota, "").With("doorways", s.doorways(taken))
		f.RetryAfter = taken.Reset
		f.Window = &fault.Window{Limit: keysPerDay, Reset: taken.Reset}
		s.refuse(c, f)
		return
	}
	key, err := s.Fences.NewDoorKey(ctx, s.Random)
	if err != nil {
		s.giveBackKey(ctx, taken)
		f := fault.New(fault.DurableUnavailable, "No key could be made right now. Retry in a minute; it does not count against your address.")
		f.RetryAfter = time.Minute
		s.refuse(c, f.Wrap(err))
		return
	}
	p := plan.Must(plan.Door1)
	c.Header("Cache-Control", "no-store")
	c.JSON(http.StatusCreated, welcome{
		Key: key.Reveal(), KeyPrefix: key.Prefix(), Door: account.DoorPublic,
		Fences: doorFences{
			UnitsPerDay: p.DailyQuota(), RequestsPerSecond: p.Rate.Limit, KeysPerAddressDay: keysPerDay, Supply: p.Supply,
		},
		Doorways: s.doorways(taken),
	})
}

const giveBackTimeout = 2 * time.Second

// giveBackKey undoes the count of a key that was not made, also when the visitor is gone.
func (s *server) giveBackKey(ctx context.Context, taken meter.Taken) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackTimeout)
	defer cancel()
	if err := s.Meter.GiveBack(ctx, taken); err != nil {
		s.Logger.Warn("a new-key count could not be given back", "error", err)
	}
}

// doorways are the ways past a door key's limits that stand open.
func (s *server) doorways(taken meter.Taken) map[string]doorway {
	midnight := s.Now().UTC().Add(taken.Reset).Truncate(time.Minute).Format(time.RFC3339)
	ways := map[string]doorway{
		"wait": {
			Past: "units_per_day, keys_per_address_and_day", Do: "Wait until 00:00 UTC, when both count anew.", At: midnight,
		},
	}
	if taken.Left > 0 {
		ways["another_key"] = doorway{
			Past: "units_per_day",
			Do:   "Make another key: this address has " + strconv.FormatInt(taken.Left, 10) + " left today.", At: s.PublicURL + "/keys",
		}
	}
	return ways
}

func meterUnreachable(err error) *fault.Error {
	f := fault.New(fault.MeterUnreachable, "The meter did not answer, so nothing was done. Retry in a few seconds.")
	f.RetryAfter = 2 * time.Second
	return f.Wrap(err)
}
