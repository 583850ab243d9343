package operation_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/parallel"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/cache"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/service"
	"github.com/chainaccess/gateway/service/internal/servicetest"
	"github.com/chainaccess/gateway/service/keys"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/usagedb"
)

// trial is an environment with an additional metered operation whose run the test defines.
type trial struct {
	*servicetest.Env

	op   *operation.Operation[operation.TrialInput, operation.TrialOutput]
	runs atomic.Int64
}

type trialRun func(context.Context, *operation.Call, operation.TrialInput) error

func openTrial(t *testing.T, meta operation.Meta, run trialRun) *trial {
	t.Helper()
	return openTrialWith(t, meta, run, func(*service.Options) {})
}

func openTrialWith(t *testing.T, meta operation.Meta, run trialRun, change func(*service.Options)) *trial {
	t.Helper()
	pool, err := upstream.NewPool(config.Upstreams{Chains: map[string]config.ChainUpstreams{
		string(chain.EthMainnet): {
			Upstreams: []config.Upstream{{Name: "one", URL: "http://127.0.0.1:1", Supply: "public"}},
		},
	}}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	answers, err := cache.New(cache.Options{Bytes: 1 << 20, Secret: []byte("secret"), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	tr := &trial{Env: servicetest.OpenEnv(t, func(o *service.Options) {
		o.Pool, o.Answers = pool, answers
		change(o)
	})}
	meta.Name, meta.Title, meta.Description, meta.Access, meta.Reads = "try", "Try", "Tries.", operation.KeyHolders,
		true
	meta.Route = operation.Route{Method: http.MethodGet, Path: "/toolbox/try/{word}", Status: http.StatusOK}
	if meta.Service == "" {
		meta.Service = account.Gas
	}
	meta.Units = plan.Unit
	tr.op = tr.Try(meta,
		func(ctx context.Context, c *operation.Call, in operation.TrialInput) (operation.TrialOutput, error) {
			n := tr.runs.Add(1)
			if run != nil {
				if err := run(ctx, c, in); err != nil {
					return operation.TrialOutput{}, err
				}
			}
			return operation.TrialOutput{Word: in.Word, Run: n}, nil
		})
	return tr
}

// keyOf returns a key with this cap, of a new account.
func (tr *trial) keyOf(t *testing.T, limit int64) (key string, id account.ID) {
	t.Helper()
	ann := servicetest.Browser(tr.SignIn(t, "ann@buyer.example"))
	made := servicetest.Must[keys.CreatedKey](t)(tr.CreateKey.Invoke(tr.Ctx, ann, keys.CreateKeyInput{
		Name: "one", MonthlyRequestCap: &limit,
	}))
	s, refusal := tr.Limits.Identify(tr.Ctx, made.PlaintextToken, ann.Network)
	if refusal != nil {
		t.Fatal(refusal)
	}
	return made.PlaintextToken, s.Account
}

func (tr *trial) use(key, word string) (operation.Answer, *fault.Error) {
	return tr.useAs(tr.Ctx, servicetest.Holder(key), map[string]any{"word": word})
}

func (tr *trial) useAs(ctx context.Context, caller *operation.Caller,
	args map[string]any,
) (operation.Answer, *fault.Error) {
	caller.RequestID = uuid.Must(uuid.NewV7())
	return tr.op.Serve(ctx, caller, func() (map[string]any, *fault.Error) { return args, nil })
}

func (tr *trial) wantRefusal(t *testing.T, refusal *fault.Error, reason fault.Reason) {
	t.Helper()
	if refusal == nil || refusal.Reason != reason {
		t.Fatalf("refused with %v, want %s", refusal, reason)
	}
}

// recorded waits for the call record of a request.
func (tr *trial) recorded(t *testing.T, id uuid.UUID) usagedb.Call {
	t.Helper()
	var calls []usagedb.Call
	testkit.Eventually(t, time.Minute, func() (found bool) {
		var err error
		calls, err = tr.Store.FindCalls(tr.Ctx, id)
		return err == nil && len(calls) > 0
	}, "the call was not recorded")
	return calls[0]
}

func TestMetered_AnswerIsPaidOnceAndServedAgainForNothing(t *testing.T) {
	t.Parallel()
	tr := openTrial(t, operation.Meta{TTL: time.Minute}, nil)
	key, owner := tr.keyOf(t, 1)
	first := servicetest.Holder(key)
	got, refusal := tr.useAs(tr.Ctx, first, map[string]any{"word": "alias"})
	in := expect.In(t, "the first use")
	require.Nil(in, refusal)
	require.False(in, got.Hit)
	require.Equal(in, string(got.JSON), `{"word":"alias","run":1}`)
	again := servicetest.Holder(key)
	got, refusal = tr.useAs(tr.Ctx, again, map[string]any{"word": "ALIAS"}) // the same input in another form
	in = expect.In(t, "the first's answer although the key has no units left")
	require.Nil(in, refusal)
	expect.True(in, got.Hit)
	expect.Equal(in, string(got.JSON), `{"word":"alias","run":1}`)
	if _, refusal = tr.use(key, "other"); refusal == nil || refusal.Reason != fault.KeyBudget {
		t.Errorf("another word: %v, want the key's budget used up", refusal)
	}
	paid, hit := tr.recorded(t, first.RequestID), tr.recorded(t, again.RequestID)
	want := usagedb.Call{
		RequestID: first.RequestID, Account: owner, Key: paid.Key, Chain: chain.EthMainnet, Service: "gas",
		Method: "try", Class: "toolbox", Outcome: "ok", HTTPStatus: 200, Units: plan.Unit, StartedAt: paid.StartedAt,
		Duration: paid.Duration, ResponseBytes: 24,
	}
	if paid != want {
		t.Errorf("recorded %+v, want %+v", paid, want)
	}
	if hit.Outcome != "hit" || hit.Units != 0 {
		t.Errorf("the hit is recorded as %+v", hit)
	}
}

func TestMetered_FailureIsRefunded(t *testing.T) {
	t.Parallel()
	fails := map[string]struct {
		run  trialRun
		want fault.Reason
	}{
		"a refusal": {func(context.Context, *operation.Call, operation.TrialInput) error {
			return fault.New(fault.NoUpstream, "")
		}, fault.NoUpstream},
		"an error": {
			func(context.Context, *operation.Call, operation.TrialInput) error { return errors.New("inner") },
			fault.InternalFault,
		},
		"a panic": {
			func(context.Context, *operation.Call, operation.TrialInput) error { panic("inner") }, fault.InternalFault,
		},
		"a panic of a part": {func(ctx context.Context, _ *operation.Call, _ operation.TrialInput) error {
			group, ctx := parallel.WithContext(ctx)
			group.Go(func() error { <-ctx.Done(); return ctx.Err() })
			group.Go(func() error { panic("inner") })
			return group.Wait()
		}, fault.InternalFault},
	}
	for name, row := range fails {
		for kept, ttl := range map[string]time.Duration{"kept": time.Minute, "never kept": 0} {
			t.Run(name+" "+kept, func(t *testing.T) {
				t.Parallel()
				var mended atomic.Bool
				tr := openTrial(t, operation.Meta{TTL: ttl},
					func(ctx context.Context, c *operation.Call, in operation.TrialInput) error {
						if mended.Load() {
							return nil
						}
						return row.run(ctx, c, in)
					})
				key, _ := tr.keyOf(t, 1)
				_, refusal := tr.use(key, "word")
				tr.wantRefusal(t, refusal, row.want)
				if strings.Contains(refusal.Message, "inner") {
					t.Errorf("the cause shows: %s", refusal.Message)
				}
				mended.Store(true)
				if got, refusal := tr.use(key, "word"); refusal != nil || got.Hit {
					t.Errorf("afterwards the key's one unit gave %s, %v", got.JSON, refusal)
				}
			})
		}
	}
}

func TestMetered_InvalidRequestIsFreeAndRunsNothing(t *testing.T) {
	t.Parallel()
	tr := openTrial(t, operation.Meta{TTL: time.Minute}, nil)
	key, _ := tr.keyOf(t, 1)
	for name, args := range map[string]map[string]any{
		"missing": {}, "too long": {"word": strings.Repeat("x", 21)}, "unknown field": {"word": "x", "other": 1},
		"refused by its own rule": {"word": "wrong"}, "unknown chain": {"word": "x", "chain": "dogecoin"},
		"a chain without upstreams": {"word": "x", "chain": "base_mainnet"},
	} {
		t.Run(name, func(t *testing.T) {
			_, refusal := tr.useAs(tr.Ctx, servicetest.Holder(key), args)
			in := expect.In(t, "%s", name)
			require.NotNil(in, refusal)
			expect.Equal(in, refusal.Reason, fault.FieldRefused)
			expect.Equal(in, refusal.HTTP(), http.StatusUnprocessableEntity)
		})
	}
	if n := tr.runs.Load(); n != 0 {
		t.Errorf("it ran %d times", n)
	}
	if _, refusal := tr.use(key, "right"); refusal != nil {
		t.Errorf("the key's one unit was spent: %v", refusal)
	}
	door := servicetest.Must[keys.Welcome](t)(tr.GetKey.Invoke(tr.Ctx, servicetest.Browser(""), keys.GetKeyInput{})).Key
	for range 200 {
		if _, refusal := tr.use(door, "wrong"); refusal.Reason == fault.RateWindow {
			return
		}
	}
	t.Error("wrong requests do not count in the rate window")
}

func TestMetered_LimitsHoldAndNameTheNextDoor(t *testing.T) {
	t.Parallel()
	tr := openTrial(t, operation.Meta{Service: account.Data}, nil)
	door := servicetest.Must[keys.Welcome](t)(tr.GetKey.Invoke(tr.Ctx, servicetest.Browser(""), keys.GetKeyInput{})).Key
	_, refusal := tr.use(door, "word")
	tr.wantRefusal(t, refusal, fault.PlanLacksService)
	if refusal.Data["next_door"] == nil {
		t.Errorf("a door key is told %v", refusal.Data)
	}
	_, refusal = tr.use("cag_nothing", "word")
	tr.wantRefusal(t, refusal, fault.KeyInvalid)
	key, owner := tr.keyOf(t, 5)
	_, refusal = tr.use(key, "word")
	tr.wantRefusal(t, refusal, fault.PlanLacksService)
	if _, err := tr.Limits.SetPlan(tr.Ctx, owner, plan.Must(plan.Pro), accountdb.Author{
		Actor: "test", Origin: "test",
	}); err != nil {
		t.Fatal(err)
	}
	if _, refusal = tr.use(key, "word"); refusal != nil {
		t.Errorf("on a paid plan: %v", refusal)
	}
	ann := servicetest.Browser(tr.SignIn(t, "ann@buyer.example"))
	services := []string{"rpc", "gas"}
	if _, refusal := tr.ConfigureServices.Invoke(tr.Ctx, ann, keys.ConfigureServicesInput{
		Enabled: &services,
	}); refusal != nil {
		t.Fatal(refusal)
	}
	_, refusal = tr.use(key, "word")
	tr.wantRefusal(t, refusal, fault.ServiceOff)
}

func TestMetered_IdenticalUsesUnderWayShareARunAndPayEach(t *testing.T) {
	t.Parallel()
	const users = 5
	for name, failure := range map[string]error{"answered": nil, "failed": fault.New(fault.UpstreamFailed, "")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var followers sync.WaitGroup
			begun, goOn := make(chan struct{}), make(chan struct{})
			tr := openTrial(t, operation.Meta{TTL: time.Minute},
				func(context.Context, *operation.Call, operation.TrialInput) error {
					close(begun)
					<-goOn
					return failure
				})
			key, _ := tr.keyOf(t, users)
			results := make(chan *fault.Error, users)
			ask := func() {
				_, refusal := tr.use(key, "word")
				results <- refusal
			}
			followers.Go(ask)
			<-begun
			for range users - 1 {
				followers.Go(ask)
			}
			testkit.Eventually(t, time.Minute, func() bool {
				return tr.Followed() == users-1
			}, "nobody waits for another's run")
			close(goOn)
			followers.Wait()
			for range users {
				if refusal := <-results; (refusal != nil) != (failure != nil) {
					t.Errorf("one user was told %v", refusal)
				}
			}
			if n := tr.runs.Load(); n != 1 {
				t.Errorf("it ran %d times", n)
			}
			a := tr.Admit(t, key, users*plan.Unit)
			if paid := !a.Admitted; paid != (failure == nil) {
				t.Errorf("after all, the key's units: %+v", a)
			}
		})
	}
}

func TestMetered_ClientThatLeavesPaysForWhatItAsked(t *testing.T) {
	t.Parallel()
	ctx, leave := context.WithCancel(t.Context())
	tr := openTrial(t, operation.Meta{TTL: time.Minute},
		func(ctx context.Context, _ *operation.Call, _ operation.TrialInput) error {
			leave()
			<-ctx.Done()
			return ctx.Err()
		})
	key, _ := tr.keyOf(t, 1)
	caller := servicetest.Holder(key)
	if _, refusal := tr.useAs(ctx, caller, map[string]any{"word": "word"}); refusal == nil {
		t.Error("it was answered")
	}
	rec := tr.recorded(t, caller.RequestID)
	expect.Equal(t, rec.Outcome, "client_gone")
	expect.Equal(t, rec.HTTPStatus, 499)
	expect.Equal(t, rec.Units, plan.Unit)
	if a := tr.Admit(t, key, plan.Unit); a.Admitted {
		t.Error("it was given back")
	}
}

func TestMetered_RunSaysHowLongItsAnswerIsKept(t *testing.T) {
	t.Parallel()
	tr := openTrial(t, operation.Meta{TTL: time.Minute},
		func(_ context.Context, c *operation.Call, in operation.TrialInput) error {
			if in.Word == "not" {
				c.Keep(0)
			}
			return nil
		})
	key, _ := tr.keyOf(t, 10)
	for word, runs := range map[string]int64{"not": 2, "kept": 1} {
		before := tr.runs.Load()
		for range 2 {
			if _, refusal := tr.use(key, word); refusal != nil {
				t.Fatal(refusal)
			}
		}
		if n := tr.runs.Load() - before; n != runs {
			t.Errorf("%q ran %d times, want %d", word, n, runs)
		}
	}
}

func TestMetered_VisitorsPayNothingAndAreLimitedByNetwork(t *testing.T) {
	t.Parallel()
	tr := openTrial(t, operation.Meta{}, nil)
	visitor := servicetest.Browser("")
	visitor.Visitor = true
	let := 0
	for range 40 {
		_, refusal := tr.useAs(tr.Ctx, visitor, map[string]any{"word": "word"})
		if refusal != nil {
			tr.wantRefusal(t, refusal, fault.RateWindow)
			break
		}
		let++
	}
	if let < 30 || let > 35 {
		t.Errorf("%d uses were let through, want 30 and what time gives back", let)
	}
	data := openTrial(t, operation.Meta{Service: account.Data}, nil)
	_, refusal := data.useAs(data.Ctx, visitor, map[string]any{"word": "word"})
	tr.wantRefusal(t, refusal, fault.KeyInvalid)
}

func TestMetered_SuspendedAccountIsServedNoCachedAnswer(t *testing.T) {
	t.Parallel()
	tr := openTrial(t, operation.Meta{TTL: time.Minute}, nil)
	key, owner := tr.keyOf(t, 5)
	if _, refusal := tr.use(key, "word"); refusal != nil {
		t.Fatal(refusal)
	}
	if _, err := tr.Limits.SetStatus(tr.Ctx, owner, account.Suspended, accountdb.Author{
		Actor: "test", Origin: "test",
	}); err != nil {
		t.Fatal(err)
	}
	_, refusal := tr.use(key, "word")
	tr.wantRefusal(t, refusal, fault.AccountSuspended)
}
