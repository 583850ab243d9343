package meter

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// DeploymentKey is the hash that names the deployment which owns this Redis. It is one key in one
// cluster slot, independent of the shards.
const DeploymentKey = "{deployment}"

// Claim marks Redis as a deployment's, unless it is marked already. It returns the id of the
// deployment that owns it, and the epoch of the record that its projections are of. Of several
// concurrent claims one wins. A positive epoch records that ForgetBefore is done for it.
func (m *Meter) Claim(ctx context.Context, deployment string, epoch int64) (owner string, held int64, err error) {
	reply, err := m.run(ctx, m.claimDeployment, []string{DeploymentKey}, deployment, epoch).Slice()
	if err != nil {
		return "", 0, fmt.Errorf("mark Redis: %w", err)
	}
	owner, named := reply[0].(string)
	held, numbered := reply[1].(int64)
	if !named || !numbered {
		return "", 0, fmt.Errorf("mark Redis: unexpected reply %v", reply)
	}
	return owner, held, nil
}

// ofRecord are the kinds of keys that are made from the record. Tokens of running loads come first,
// so that no load of the lost record is put in force after its projection was forgotten; then
// projections and counters.
var ofRecord = []string{"ld", "cfg", "key", "ap", "kp", "day", "pk"}

// forgetAtOnce is how many keys one pipeline checks.
const forgetAtOnce = 500

// ForgetBefore deletes the projections and counters that records of earlier epochs put here, and
// returns how many keys it deleted. Calls continue meanwhile: what they miss is loaded from the
// record. Usage stays. It is idempotent.
func (m *Meter) ForgetBefore(ctx context.Context, epoch int64) (int, error) {
	type answer struct {
		gone int
		err  error
	}
	answers := make(chan answer)
	n, err := m.eachMaster(ctx, func(r redis.Cmdable) {
		gone, err := m.forgetOn(ctx, r, epoch)
		answers <- answer{gone, err}
	})
	sum := 0
	for range n {
		a := <-answers
		sum += a.gone
		if a.err != nil {
			err = a.err
		}
	}
	if err != nil {
		return sum, fmt.Errorf("forget what earlier epochs put into Redis: %w", err)
	}
	return sum, nil
}

func (m *Meter) forgetOn(ctx context.Context, r redis.Cmdable, epoch int64) (gone int, err error) {
	for _, kind := range ofRecord {
		for cursor := uint64(0); ; {
			var names []string
			if names, cursor, err = r.Scan(ctx, cursor, "{u????}:"+kind+":*", forgetAtOnce).Result(); err != nil {
				return gone, err
			}
			if len(names) > 0 {
				went, err := m.forgetAll(ctx, r, names, epoch)
				gone += went
				if err != nil {
					return gone, err
				}
			}
			if cursor == 0 {
				break
			}
		}
	}
	return gone, nil
}

func (m *Meter) forgetAll(ctx context.Context, r redis.Cmdable, names []string, epoch int64) (int, error) {
	done, err := r.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, name := range names {
			m.forget.Eval(ctx, p, []string{name}, epoch)
		}
		return nil
	})
	gone := 0
	for _, cmd := range done {
		if evaluated, ok := cmd.(*redis.Cmd); ok {
			n, _ := evaluated.Int() // 0 for a failed one
			gone += n
		}
	}
	return gone, err
}
