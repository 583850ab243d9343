// Package operator does what operators ask for on the command line: migrations, keys, and the
// commands of `gateway ops`. The program only parses arguments and prints the results.
package operator

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
)

// Upstreams returns the state of the upstreams of a chain; of every chain when on is empty.
func Upstreams(ctx context.Context, cfg config.Config, providers config.Upstreams,
	on string,
) ([]upstream.Overview, error) {
	if err := named(providers, on); err != nil {
		return nil, err
	}
	pool, err := upstream.NewPool(providers, time.Now)
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	var all []upstream.Overview
	err = withBoard(ctx, cfg, func(ctx context.Context, b *upstream.Board) (err error) {
		all, err = b.Overview(ctx, pool)
		return err
	})
	if on != "" {
		all = slices.DeleteFunc(all, func(o upstream.Overview) bool { return string(o.Chain) != on })
	}
	return all, err
}

// ChainErrors are the unknown errors of one chain's upstreams.
type ChainErrors struct {
	Chain  chain.ID                `json:"chain"`
	Errors []upstream.UnknownError `json:"errors"`
}

// UnknownErrors returns the errors that no rule knows, by chain; of every chain when on is
// empty. With forget, it deletes them after they are read.
func UnknownErrors(ctx context.Context, cfg config.Config, providers config.Upstreams, on string,
	forget bool,
) ([]ChainErrors, error) {
	if err := named(providers, on); err != nil {
		return nil, err
	}
	var all []ChainErrors
	err := withBoard(ctx, cfg, func(ctx context.Context, b *upstream.Board) error {
		for _, c := range providers.Known.All() {
			if _, listed := providers.Chains[string(c.ID)]; !listed || (on != "" && string(c.ID) != on) {
				continue
			}
			found, err := b.UnknownErrors(ctx, c.ID)
			if err == nil && forget {
				err = b.ForgetUnknownErrors(ctx, c.ID)
			}
			if err != nil {
				return err
			}
			all = append(all, ChainErrors{c.ID, found})
		}
		return nil
	})
	return all, err
}

// Cordon takes an upstream out of rotation, on one chain or on every chain that has one of this
// name, and returns those chains.
func Cordon(ctx context.Context, cfg config.Config, providers config.Upstreams, name, on string,
	c upstream.Cordon,
) ([]chain.ID, error) {
	ids, err := chainsWith(providers, name, on)
	if err != nil {
		return nil, err
	}
	return ids, withBoard(ctx, cfg, func(ctx context.Context, b *upstream.Board) error {
		for _, id := range ids {
			if err := b.Cordon(ctx, id, name, c); err != nil {
				return err
			}
		}
		return nil
	})
}

// Uncordon removes cordons and returns the chains that had one. The upstreams file need not name
// the upstream any more.
func Uncordon(ctx context.Context, cfg config.Config, providers config.Upstreams,
	name, on string,
) ([]chain.ID, error) {
	var freed []chain.ID
	err := withBoard(ctx, cfg, func(ctx context.Context, b *upstream.Board) error {
		for _, c := range providers.Known.All() {
			if on != "" && string(c.ID) != on {
				continue
			}
			found, err := b.Uncordon(ctx, c.ID, name)
			if err != nil {
				return err
			}
			if found {
				freed = append(freed, c.ID)
			}
		}
		return nil
	})
	if err == nil && len(freed) == 0 {
		return nil, fmt.Errorf("no upstream %q is cordoned%s; gateway ops upstreams shows which are", name, onChain(on))
	}
	return freed, err
}

// chainsWith returns the chains that have an upstream of a name.
func chainsWith(providers config.Upstreams, name, on string) ([]chain.ID, error) {
	if err := named(providers, on); err != nil {
		return nil, err
	}
	var ids []chain.ID
	var names []string
	for _, c := range providers.Known.All() {
		if on != "" && string(c.ID) != on {
			continue
		}
		for _, u := range providers.Chains[string(c.ID)].Upstreams {
			names = append(names, u.Name)
			if u.Name == name {
				ids = append(ids, c.ID)
			}
		}
	}
	if len(ids) == 0 {
		slices.Sort(names)
		return nil, fmt.Errorf("the upstreams file has no upstream %q%s; it has %s", name, onChain(on),
			strings.Join(slices.Compact(names), ", "))
	}
	return ids, nil
}

func onChain(on string) string {
	if on == "" {
		return ""
	}
	return " on " + on
}

// named refuses a chain that the file does not name; an empty one is valid.
func named(providers config.Upstreams, on string) error {
	if _, ok := providers.Chains[on]; ok || on == "" {
		return nil
	}
	names := slices.DeleteFunc(providers.Known.IDs(), func(name string) bool {
		_, ok := providers.Chains[name]
		return !ok
	})
	return fmt.Errorf("the upstreams file does not name the chain %q; it names %s", on, strings.Join(names, ", "))
}
