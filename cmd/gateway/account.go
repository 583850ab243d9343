package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/chainaccess/gateway/cmd/internal/operator"
	"github.com/chainaccess/gateway/cmd/internal/wire"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/accountdb"
)

// notInForce is the exit code of a change that is committed but not in the meter.
const notInForce = 3

func opsAccountCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "account",
		Short: "Show an account and its fences, or change it",
		Long: `gateway ops account shows accounts and changes them. Units are whole units.

Each change is saved with an entry in the audit log (who, when, why) and put in force in every process before the
command returns. Exit codes: 0 when it is in force and was read back, 1 when it was refused, 3 when it is saved but
not in force. With 3, either Redis could not be updated, and a worker retries until it answers, or PostgreSQL was
restored: run gateway ops recover.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(accountShowCommand(), statusCommand(account.Suspended), statusCommand(account.Active),
		setPlanCommand(), grantPackCommand(), setEnterpriseCommand())
	return cmd
}

func accountShowCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show an account with its fences, packs, keys and last changes",
		Long: `gateway ops account show ID shows an account. ID is the id of the account, the id of one of its
keys, or the first 12 characters of a key.

USED counts every call until now. REQUESTS counts the calls in PostgreSQL, which are complete up to COMPLETE UNTIL.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			wire.LogRedis(quiet)
			cfg, err := config.FromEnvironment(config.OpsRecord)
			if err != nil {
				return err
			}
			v, err := operator.Account(cmd.Context(), cfg, args[0])
			if err != nil {
				return err
			}
			if asJSON {
				err = writeJSON(cmd.OutOrStdout(), v)
			} else {
				err = writeAccount(cmd.OutOrStdout(), &v)
			}
			if err == nil && v.MeterError != "" {
				err = fmt.Errorf(
					"REDIS_URL: Redis cannot be used, so what is left of fences and packs is not shown: %s",
					v.MeterError)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON, for programs")
	return cmd
}

// change is a validated change of an account. It returns what to print once it is in force.
type change func(context.Context, *limits.Limits, accountdb.Account, accountdb.Author) (said string, err error)

// changeCommand completes the command of a change. parse validates the arguments before any
// connection is made.
func changeCommand(cmd *cobra.Command, parse func(args []string) (change, error)) *cobra.Command {
	var reason string
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := account.ParseID(args[0])
		if err != nil {
			return fmt.Errorf(
				"the id of an account is like 0198c5a2-7c1e-7b3f-9d21-3f0c5b7a9e11, not %q; gateway ops account show "+
					"finds one by a key", shortened(args[0]))
		}
		made, err := parse(args[1:])
		if err != nil {
			return err
		}
		why, err := text("--reason", reason, 500)
		if err != nil {
			return err
		}
		wire.LogRedis(quiet)
		cfg, err := config.FromEnvironment(config.OpsRecord)
		if err != nil {
			return err
		}
		var said string
		by := accountdb.Author{Actor: operatorName(), Origin: "ops", Reason: why}
		changed, err := operator.ChangeAccount(cmd.Context(), cfg, id,
			func(ctx context.Context, f *limits.Limits, before accountdb.Account) (err error) {
				said, err = made(ctx, f, before, by)
				return err
			})
		switch {
		case errors.Is(err, operator.ErrNotInForce):
			return coded{err, notInForce}
		case err != nil:
			return err
		case !changed:
			said += "; nothing changed"
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "account %s %s\n", id, said)
		return err
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the audit log; required")
	return cmd
}

// text validates a required text of the operator: one printable line of at most limit characters.
func text(name, value string, limit int) (string, error) {
	value = strings.TrimSpace(value)
	switch {
	case value == "":
		return "", fmt.Errorf("%s is missing: say in a few words why you make the change", name)
	case len([]rune(value)) > limit:
		return "", fmt.Errorf("%s may have at most %d characters", name, limit)
	case strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "", fmt.Errorf("%s must be one line of printable characters", name)
	}
	return value, nil
}

func statusCommand(to account.Status) *cobra.Command {
	cmd := &cobra.Command{
		Use: "suspend ID --reason WHY", Short: "Refuse every call of an account, effective at once",
		Long: `gateway ops account suspend refuses every call of an account with -32009 from the moment it
returns. Its users can still sign in and are shown the reason: write it for them.`,
		Args: cobra.ExactArgs(1),
	}
	if to == account.Active {
		cmd.Use, cmd.Short, cmd.Long = "resume ID --reason WHY", "Admit a suspended account again", ""
	}
	return changeCommand(cmd, func([]string) (change, error) {
		return func(ctx context.Context, f *limits.Limits, before accountdb.Account,
			by accountdb.Author,
		) (string, error) {
			a, err := f.SetStatus(ctx, before.ID, to, by)
			return "is " + string(a.Status), err
		}, nil
	})
}

func setPlanCommand() *cobra.Command {
	var keys []string
	for _, p := range plan.All() {
		if p.Key != plan.Enterprise {
			keys = append(keys, p.Key)
		}
	}
	known := strings.Join(keys, ", ")
	return changeCommand(&cobra.Command{
		Use:   "set-plan ID PLAN --reason WHY",
		Short: "Move an account to a plan",
		Long: `gateway ops account set-plan moves an account to a plan: ` + known + `.
The period and its usage continue. The figures of a contract are dropped; set-enterprise sets them.`,
		Args: cobra.ExactArgs(2),
	}, func(args []string) (change, error) {
		if args[0] == plan.Enterprise {
			return nil, errors.New("enterprise needs the figures of its contract: gateway ops account set-enterprise")
		}
		to, ok := plan.Lookup(args[0])
		if !ok || to.Kind == plan.PerCall {
			return nil, fmt.Errorf("there is no plan %q; plans are %s", shortened(args[0]), known)
		}
		return func(ctx context.Context, f *limits.Limits, before accountdb.Account,
			by accountdb.Author,
		) (string, error) {
			if to.Key == plan.Door1 && before.Kind != accountdb.KindDoor {
				return "", fault.New(fault.FieldRefused,
					"the plan %s is for anonymous keys, which have a daily limit; this is a %s account", to.Key,
					before.Kind)
			}
			a, err := f.SetPlan(ctx, before.ID, to, by)
			return "is on plan " + a.Plan, err
		}, nil
	})
}

func grantPackCommand() *cobra.Command {
	var size, origin string
	cmd := changeCommand(&cobra.Command{
		Use:   "grant-pack ID --size s|m|l [--origin TEXT] --reason WHY",
		Short: "Grant a pack of units for " + strconv.Itoa(plan.PackMonths) + " months",
		Long: `gateway ops account grant-pack grants a pack, which is used after the plan's quota and valid for ` +
			strconv.Itoa(plan.PackMonths) + ` months.

--origin says what the pack is granted for and makes the command idempotent: each origin gets one pack. Without it,
every command generates its own origin and grants another pack.`,
		Args: cobra.ExactArgs(1),
	}, func([]string) (change, error) {
		sold, ok := plan.FindPack(size)
		if !ok {
			return nil, fmt.Errorf("--size must be s, m or l, not %q", shortened(size))
		}
		cause, err := text("--origin", cmp.Or(origin, "ops:"+uuid.Must(uuid.NewV7()).String()), 200)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, f *limits.Limits, before accountdb.Account,
			by accountdb.Author,
		) (string, error) {
			now := time.Now().UTC().Truncate(time.Microsecond)
			p, fresh, err := f.GrantPack(ctx, accountdb.Pack{
				Pack:    account.Pack{ID: account.NewPackID(), Units: sold.Units, Expires: sold.Expires(now)},
				Account: before.ID, Kind: sold.Key, Origin: cause, GrantedAt: now,
			}, by)
			said := "was granted"
			if !fresh {
				said = "has been granted, on " + p.GrantedAt.Format(time.DateOnly) + ","
			}
			said += fmt.Sprintf(" %s %s: %s units until %s, origin %s", p.Kind, p.ID, p.Units.Grouped(),
				p.Expires.Format(time.DateOnly), p.Origin)
			if terms, unknown := before.Terms(); unknown == nil && !terms.DrawsPacks() {
				said += "; it is not used on plan " + before.Plan + ", which has no quota"
			}
			return said, err
		}, nil
	})
	cmd.Flags().StringVar(&size, "size", "", "s, m or l; required")
	cmd.Flags().StringVar(&origin, "origin", "", "what it is granted for, once; generated when omitted")
	return cmd
}

func setEnterpriseCommand() *cobra.Command {
	var quota, rate, per string
	cmd := changeCommand(&cobra.Command{
		Use:   "set-enterprise ID --quota N|unlimited --rate N --per DURATION --reason WHY",
		Short: "Put an account on the Enterprise plan with the figures of its contract",
		Long: `gateway ops account set-enterprise puts an account on the Enterprise plan with a contract's quota,
in whole units a period, and its rate limit: a number of requests per 1s, 1m, 15m or any other window up to an hour.`,
		Args: cobra.ExactArgs(1),
	}, func([]string) (change, error) {
		c, err := contract(quota, rate, per)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, f *limits.Limits, before accountdb.Account,
			by accountdb.Author,
		) (string, error) {
			a, err := f.SetEnterprise(ctx, before.ID, c, by)
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("is on plan %s: %s, %s requests per %s", a.Plan, quotaWords(c.Quota),
				plan.Group(fmt.Sprint(c.Rate.Limit)), duration(c.Rate.Per)), nil
		}, nil
	})
	cmd.Flags().StringVar(&quota, "quota", "", "whole units per period, or unlimited; required")
	cmd.Flags().StringVar(&rate, "rate", "", "requests of the rate window; required")
	cmd.Flags().StringVar(&per, "per", "", "length of the rate window, like 1s, 1m or 15m; required")
	return cmd
}

// maxRequests is above the limit of every rate window that is sold.
const maxRequests = 1_000_000_000

// contract parses the figures of a contract.
func contract(quota, rate, per string) (account.Custom, error) {
	c := account.Custom{Quota: account.Unlimited}
	if quota != "unlimited" {
		units, ok := whole(quota, int64(account.MaxCap/plan.Unit))
		if !ok {
			return c, fmt.Errorf("--quota must be whole units from 0 to %s, without commas, or unlimited, not %q",
				account.MaxCap.Grouped(), shortened(quota))
		}
		c.Quota = plan.Units(units) * plan.Unit
	}
	requests, ok := whole(rate, maxRequests)
	if !ok || requests == 0 {
		return c, fmt.Errorf("--rate must be requests from 1 to %s, without commas, not %q",
			plan.Group(fmt.Sprint(maxRequests)), shortened(rate))
	}
	length, err := time.ParseDuration(per)
	if err != nil {
		return c, fmt.Errorf("--per must be a time from 1s to 1h, like 1s, 1m or 15m, not %q", shortened(per))
	}
	c.Rate = account.RateWindow{Limit: requests, Per: length}
	if refusal := c.Check(); refusal != nil {
		return c, errors.New(refusal.Message)
	}
	return c, nil
}

// whole parses a number that consists of digits only.
func whole(text string, limit int64) (int64, bool) {
	const longest = 18 // digits that always fit
	if text == "" || len(text) > longest || strings.ContainsFunc(text, func(r rune) bool {
		return r < '0' || r > '9'
	}) {
		return 0, false
	}
	var n int64
	for _, digit := range []byte(text) {
		n = n*10 + int64(digit-'0')
	}
	return n, n <= limit
}
