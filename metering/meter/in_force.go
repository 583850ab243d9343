package meter

import (
	"context"
	"fmt"
	"strconv"

	"github.com/chainaccess/gateway/identity/account"
)

// InForce describes the projection by which calls are admitted now.
type InForce struct {
	There          bool // else the next call loads it from PostgreSQL
	Epoch, Version int64
	// Same reports whether it equals the projection that was passed, apart from what time alone
	// changes: periods, and packs that expire. The same version may differ after the record was
	// restored.
	Same bool
}

// AccountInForce reads the account's projection in force and compares it with f.
func (m *Meter) AccountInForce(ctx context.Context, f account.AccountLimits) (InForce, error) {
	p, err := projectAccount(&f)
	if err != nil {
		return InForce{}, err
	}
	return m.inForce(ctx, accountTag(f.Account)+"cfg:"+f.Account.String(), p)
}

// KeyInForce reads the key's projection in force and compares it with f.
func (m *Meter) KeyInForce(ctx context.Context, f account.KeyLimits) (InForce, error) {
	return m.inForce(ctx, accountTag(f.Account)+"key:"+f.Key.String(), projectKey(&f))
}

// MovedInForce reads the projection in force of a key in the account that it left.
func (m *Meter) MovedInForce(ctx context.Context, from account.ID, key account.KeyID) (InForce, error) {
	return m.inForce(ctx, accountTag(from)+"key:"+key.String(), moved())
}

// byTime are the fields that change without a new version, and those that order projections.
var byTime = map[string]bool{
	"v": true, "e": true, accountMarker: true, keyMarker: true, "npl": true, "p": true, "pe": true, "np": true,
	"ne": true, "pk": true, "npk": true,
}

func (m *Meter) inForce(ctx context.Context, name string, asked *projection) (InForce, error) {
	held, err := m.rdb.HGetAll(ctx, name).Result()
	if err != nil {
		return InForce{}, fmt.Errorf("read which fences %s are in force: %w", name, err)
	}
	// One without the marker is an older version's, which admit.lua does not read.
	if held["v"] == "" || held[asked.marker] == "" {
		return InForce{}, nil
	}
	f := InForce{There: true}
	if f.Version, err = strconv.ParseInt(held["v"], 10, 64); err == nil && held["e"] != "" {
		f.Epoch, err = strconv.ParseInt(held["e"], 10, 64)
	}
	if err != nil {
		return InForce{}, fmt.Errorf("read which fences %s are in force: %w", name, err)
	}
	f.Same = same(held, asked)
	return f, nil
}

func same(held map[string]string, asked *projection) bool {
	wanted := map[string]string{}
	for i := 0; i+1 < len(asked.fields); i += 2 {
		wanted[fmt.Sprint(asked.fields[i])] = fmt.Sprint(asked.fields[i+1])
	}
	if held["pe"] != wanted["pe"] { // another period, which may have another plan
		return true
	}
	for name, value := range wanted {
		if !byTime[name] && held[name] != value {
			return false
		}
	}
	for name := range held {
		if _, known := wanted[name]; !byTime[name] && !known {
			return false
		}
	}
	return true
}
