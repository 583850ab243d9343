package workflows_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/sdk/worker"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/settlement"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/paymentdb"
	"github.com/chainaccess/gateway/workflows"
)

var sold = x402.Terms{
	Chain: 8453, Asset: wallet.Address{0x83}, PayTo: wallet.Address{0x5e}, Service: "Chain Access Gateway",
	Confirmations: 2, CorroborateAbove: 1_000_000,
}

// carrySettlements registers the activities of settlements over a chain with one upstream, in a
// carrier that kills itself where it is configured to.
func carrySettlements(w worker.Worker, s *store.Store, f *limits.Limits, address string) error {
	list := config.ChainUpstreams{Upstreams: []config.Upstream{{Name: "a", URL: address, Supply: "public"}}}
	pool, err := upstream.NewPool(config.Upstreams{
		Chains: map[string]config.ChainUpstreams{string(chain.BaseMainnet): list},
	}, time.Now)
	if err != nil {
		return err
	}
	on, _ := pool.Chain(chain.BaseMainnet)
	on.Apply(upstream.Snapshot{
		Chain: chain.BaseMainnet, ChainID: 8453, MeasuredAt: time.Now(), Head: 1000, HeadKnown: true,
		Upstreams: []upstream.UpstreamState{
			{Name: "a", Fingerprint: on.Fingerprint("a"), Usable: true, ChainIDOK: true, Head: 1000},
		},
	})
	d := &dying{at: os.Getenv(carrierDies), Limits: f, Store: s, Reader: settlement.New(pool, chain.BaseMainnet, sold)}
	w.RegisterActivity(&activities.Settlements{
		Limits: d, Record: d, Chain: d, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
	})
	return nil
}

// dying wraps the dependencies of settlements in a process that kills itself with SIGKILL before or
// after a step.
type dying struct {
	*limits.Limits
	*store.Store
	*settlement.Reader

	at string
}

func (d *dying) on(point string) {
	if d.at == point {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // wait for the signal
	}
}

// diesAt returns all points: before and after each step of an activity that changes something or
// reads the chain.
func diesAt() (points []string) {
	for _, step := range []string{"read", "note", "grant", "rotate", "conclude"} {
		points = append(points, "before "+step, "after "+step)
	}
	return points
}

func (d *dying) Read(ctx context.Context, tx x402.TxHash, expected ...x402.PayerSum) (settlement.Reading, error) {
	d.on("before read")
	defer d.on("after read")
	return d.Reader.Read(ctx, tx, expected...)
}

func (d *dying) NoteSettlement(ctx context.Context, id x402.ID, stage x402.Stage, reason, words string,
	seen *x402.Finding,
) (paymentdb.Settlement, error) {
	d.on("before note")
	defer d.on("after note")
	return d.Store.NoteSettlement(ctx, id, stage, reason, words, seen)
}

//nolint:gocritic // the signature is the interface's
func (d *dying) GrantSettlement(ctx context.Context, g paymentdb.Grant) (paymentdb.Settlement, error) {
	d.on("before grant")
	defer d.on("after grant")
	return d.Limits.GrantSettlement(ctx, g)
}

//nolint:gocritic // the signature is the interface's
func (d *dying) RotateCredential(ctx context.Context, r paymentdb.Rotation) (paymentdb.Settlement, error) {
	d.on("before rotate")
	defer d.on("after rotate")
	return d.Limits.RotateCredential(ctx, r)
}

func (d *dying) ConcludeSettlement(ctx context.Context, id x402.ID, f x402.Finality, seen *x402.Finding, words string,
	by accountdb.Author,
) (paymentdb.Settlement, error) {
	d.on("before conclude")
	defer d.on("after conclude")
	return d.Limits.ConcludeSettlement(ctx, id, f, seen, words, by)
}

// buyer pays, redeems too early, redeems, redeems again, and sees its payment become final.
type buyer struct {
	c      *carried
	ledger *testkit.Ledger
	id     x402.ID
	last   account.KeyID
}

func (b *buyer) put(height uint64) {
	b.ledger.Put(b.id.Tx.String(), testkit.LedgerTx{
		Block: height, Seconds: time.Now().Add(-time.Minute).Unix(),
		Logs: []testkit.LedgerLog{{
			Token: strings.ToLower(sold.Asset.String()), From: strings.ToLower(b.id.Payer.String()),
			To: strings.ToLower(sold.PayTo.String()), Amount: 90_000,
		}},
	})
}

// redeem retries until the answer is the wanted stage.
func (b *buyer) redeem(t *testing.T, want x402.Stage) {
	t.Helper()
	var answer workflows.RedeemAnswer
	for deadline := time.Now().Add(2 * testTimeout); answer.Stage != want; {
		secret, err := account.MintCredential(rand.Reader)
		if err != nil {
			t.Error(err)
			return
		}
		in := workflows.Redeem{Tier: plan.Balanced, Country: "US", Credential: activities.NewCredential{
			Key: account.NewKeyID(), Digest: secret.Digest(b.c.hasher), Prefix: secret.Prefix(),
		}}
		b.last = in.Credential.Key
		answer, err = b.c.flows.RedeemSettlement(b.c.ctx, b.id, time.Hour, in)
		if err != nil && reasonOf(err) != fault.DurableUnavailable || time.Now().After(deadline) {
			t.Errorf("%s: %+v, %v; want %s", b.id.Tx, answer, err, want)
			return
		}
	}
}

func (b *buyer) live(t *testing.T) {
	t.Helper()
	b.put(999)
	b.redeem(t, x402.StagePending)
	b.put(900)
	b.redeem(t, x402.StageRedeemed)
	b.redeem(t, x402.StageRedeemed)
	if err := b.c.flows.LookAtSettlement(b.c.ctx, b.id, time.Hour); err != nil {
		t.Error(err)
	}
}

func TestSettlement_WorkersThatDieAtEveryStepGrantEveryPaymentOnce(t *testing.T) {
	testkit.Slow(t)
	t.Parallel()
	c := setupCarried(t)
	u, ledger := testkit.Upstream(t), testkit.NewLedger(8453, 1000)
	ledger.Serve(u)
	ledger.Grow(1000, 950)
	var alive atomic.Int64
	for _, point := range diesAt() {
		ended, _ := c.process(t, carrierChain+"="+u.URL, carrierDies+"="+point)
		alive.Add(1)
		go func() {
			<-ended
			alive.Add(-1)
		}()
	}
	healthy := sync.OnceFunc(func() { c.carrier(t, carrierChain+"="+u.URL) })
	var buyers []*buyer
	for round := 0; round < 8 && (alive.Load() > 0 || round == 0); round++ {
		var living sync.WaitGroup
		for range 8 {
			b := &buyer{
				c: c, ledger: ledger, id: x402.ID{
					Chain: 8453, Tx: x402.TxHash{0x7a, byte(len(buyers))}, Payer: newWallet(),
				},
			}
			buyers = append(buyers, b)
			living.Go(func() { b.live(t) })
		}
		testkit.Eventually(t, testTimeout, func() bool {
			return alive.Load() <= int64(len(diesAt())/2)
		}, "half of the workers died; %d live", alive.Load())
		healthy() // otherwise no worker makes progress
		living.Wait()
	}
	if alive.Load() > 0 {
		t.Fatalf("%d workers came to no end: their step was never taken", alive.Load())
	}
	for _, b := range buyers {
		b.check(t)
	}
	var accounts, packs, settlements int
	err := c.db.QueryRow(c.ctx,
		`SELECT (SELECT count(*) FROM accounts WHERE kind = 'settlement'), (SELECT count(*) FROM packs), (SELECT `+
			`count(*) FROM settlements)`).
		Scan(&accounts, &packs, &settlements)
	require.NoError(t, err)
	expect.Equal(t, accounts, len(buyers))
	expect.Equal(t, packs, len(buyers))
	expect.Equal(t, settlements, len(buyers))
}

// check verifies that there is one grant, one valid credential, and a final transaction.
func (b *buyer) check(t *testing.T) {
	t.Helper()
	var s paymentdb.Settlement
	testkit.Eventually(t, 2*testTimeout, func() bool {
		var err error
		s, err = b.c.store.FindSettlement(b.c.ctx, b.id)
		return err == nil && s.Finality == x402.FinalityFinal
	}, "%s is final: %+v", b.id.Tx, s)
	if s.Deal.Units != 10_000*plan.Unit || s.Deal.Net+s.Deal.VAT != 90_000 {
		t.Errorf("the deal is %+v", s.Deal)
	}
	keys, err := b.c.db.Query(b.c.ctx, `SELECT status FROM keys WHERE account_id = $1`, s.Account.UUID)
	if err != nil {
		t.Fatal(err)
	}
	defer keys.Close()
	active := 0
	for keys.Next() {
		var status string
		if err := keys.Scan(&status); err != nil {
			t.Fatal(err)
		}
		if status == string(account.Active) {
			active++
		}
	}
	if active != 1 || s.Key != b.last {
		t.Errorf("%s: %d keys are active, the settlement's is %s, the last that was answered %s", fmt.Sprint(b.id.Tx),
			active, s.Key, b.last)
	}
}
