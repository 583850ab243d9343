package payments_test

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/settlement"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/service"
	"github.com/chainaccess/gateway/service/internal/servicetest"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/service/payments"
	"github.com/chainaccess/gateway/store/paymentdb"
	"github.com/chainaccess/gateway/workflows"
)

// env sells per call: the operations of two API processes over one PostgreSQL, one Redis and one
// Temporal, and two upstreams of Base.
type env struct {
	*servicetest.Env

	second   *service.Registry
	servers  []*testkit.UpstreamServer
	ledgers  []*testkit.Ledger // that the upstreams serve
	payments *settlement.Reader
	terms    x402.Terms
	temporal client.Client
	space    string // Temporal namespace
	flows    *workflows.Client
	txs      int
	visitors atomic.Int64
	options  service.Options // of the second process
	stop     func()          // stops the worker
}

func openEnv(t *testing.T) *env {
	t.Helper()
	s := &env{}
	server := testkit.Temporal(t)
	s.temporal, s.space = server.Dial(t), server.Namespace
	s.flows = workflows.NewClient(s.temporal)
	s.openChain(t)
	var twin service.Options
	s.Env = servicetest.OpenEnv(t, func(o *service.Options) {
		o.Flows, o.Terms, o.Payments, o.FinalityDelay = s.flows, s.terms, s.payments, time.Hour
		twin = *o
	})
	twin.Limits = limits.New(s.Store, twin.Meter, s.Hasher, time.Now)
	s.second, s.options = service.New(twin), twin
	s.stop = s.work(t, time.Now)
	return s
}

// openChain opens two upstreams with equal chains. The first one is asked first.
func (s *env) openChain(t *testing.T) {
	t.Helper()
	list := config.ChainUpstreams{}
	for i := range 2 {
		u, l := testkit.Upstream(t), testkit.NewLedger(8453, 1000)
		l.Serve(u)
		s.servers, s.ledgers = append(s.servers, u), append(s.ledgers, l)
		list.Upstreams = append(list.Upstreams, config.Upstream{
			Name: string(rune('a' + i)), URL: u.URL, Supply: "public",
		})
	}
	pool, err := upstream.NewPool(config.Upstreams{
		Chains: map[string]config.ChainUpstreams{string(chain.BaseMainnet): list},
	}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	on, _ := pool.Chain(chain.BaseMainnet)
	seen := upstream.Snapshot{
		Chain: chain.BaseMainnet, ChainID: 8453, MeasuredAt: time.Now(), Head: 1000, HeadKnown: true,
	}
	for i, u := range list.Upstreams {
		seen.Upstreams = append(seen.Upstreams, upstream.UpstreamState{
			Name: u.Name, Fingerprint: on.Fingerprint(u.Name), Usable: true, ChainIDOK: true, Head: 1000,
			LatencyMicros: int64(1000 << (4 * i)),
		})
	}
	on.Apply(seen)
	s.terms = x402.Terms{
		Chain: 8453, Service: "Chain Access Gateway", Host: "gateway.example", Confirmations: 2,
		CorroborateAbove: 1_000_000,
	}
	s.terms.Asset, _ = wallet.ParseAddress(servicetest.USDCOnBase)
	s.terms.PayTo, _ = wallet.ParseAddress(servicetest.SellerAt)
	s.payments = settlement.New(pool, chain.BaseMainnet, s.terms)
}

// work starts a worker and returns what stops it.
func (s *env) work(t *testing.T, now func() time.Time) (stop func()) {
	t.Helper()
	w := worker.New(s.temporal, workflows.QueueGateway, worker.Options{StickyScheduleToStartTimeout: time.Second})
	workflows.RegisterGateway(w)
	w.RegisterActivity(&activities.Settlements{
		Limits: s.Limits, Record: s.Store, Chain: s.payments, Now: now, Logger: slog.New(slog.DiscardHandler),
	})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(w.Stop)
	t.Cleanup(stop)
	return stop
}

// transfer returns a transaction in block 900 in which each payer sends amount to the seller.
func transfer(amount uint64, payers ...servicetest.Signer) testkit.LedgerTx {
	tx := testkit.LedgerTx{Block: 900, Seconds: time.Now().Add(-time.Minute).Unix()}
	for _, p := range payers {
		tx.Logs = append(tx.Logs, testkit.LedgerLog{
			Token: servicetest.USDCOnBase, From: strings.ToLower(p.Address), To: servicetest.SellerAt, Amount: amount,
		})
	}
	return tx
}

// pay puts a transaction on the chain of both upstreams and returns its hash.
func (s *env) pay(tx testkit.LedgerTx) string { //nolint:gocritic // a test's own
	s.txs++
	hash := fmt.Sprintf("0x%064x", 0xabc000+s.txs)
	for _, l := range s.ledgers {
		l.Put(hash, tx)
	}
	return hash
}

func (s *env) signed(t *testing.T, by servicetest.Signer, hash string) string {
	t.Helper()
	return by.Sign(t, "Chain Access Gateway x402 redeem\n"+hash)
}

// visitor returns a caller without a key, from one of many networks.
func (s *env) visitor() *operation.Caller {
	n := s.visitors.Add(1)
	c := servicetest.Browser("")
	c.Door, c.Network = operation.DoorAPI,
		netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 51, byte(n >> 8), byte(n)}), 32)
	return c
}

func body(hash, tier, signature string) map[string]any {
	return map[string]any{"tx_hash": hash, "tier": tier, "signature": signature}
}

// redeem redeems as the payer does and expects the status redeemed.
func (s *env) redeem(t *testing.T, by servicetest.Signer, hash, tier string) payments.Redeemed {
	t.Helper()
	in := payments.RedeemInput{TxHash: hash, Tier: plan.Tier(tier), Signature: s.signed(t, by, hash)}
	out, refusal := s.redeemAsTold(s.Registry, s.visitor(), in)
	if refusal != nil || out.Status != "redeemed" {
		t.Fatalf("redeem %s: %+v, %v", hash, out, refusal)
	}
	return out
}

// redeemAsTold retries a redeem for as long as the response asks for it, as clients do: on a busy
// machine the workflow takes longer than a request waits.
func (s *env) redeemAsTold(at *service.Registry, who *operation.Caller,
	in payments.RedeemInput,
) (payments.Redeemed, *fault.Error) {
	again := time.NewTicker(5 * time.Second)
	defer again.Stop()
	for {
		out, refusal := at.RedeemPayment.Invoke(s.Ctx, who, in)
		if refusal == nil || refusal.Reason != fault.DurableUnavailable {
			return out, refusal
		}
		select {
		case <-again.C:
		case <-s.Ctx.Done():
			return out, refusal
		}
	}
}

// refused redeems with a signature and expects a refusal, with why unless it is empty.
func (s *env) refused(t *testing.T, what string, in map[string]any, reason fault.Reason, why string) *fault.Error {
	t.Helper()
	out, refusal := s.RedeemPayment.Serve(s.Ctx, s.visitor(), func() (map[string]any, *fault.Error) { return in, nil })
	if refusal == nil || refusal.Reason != reason || (why != "" && refusal.Data["why"] != why) {
		t.Errorf("%s: %+v, %v (%v); want %s %s", what, out.Output, refusal, refusal, reason, why)
		return fault.New(reason, "")
	}
	return refusal
}

func (s *env) settlement(t *testing.T, by servicetest.Signer, hash string) paymentdb.Settlement {
	t.Helper()
	id := x402.ID{Chain: 8453}
	id.Tx, _ = x402.ParseTxHash(hash)
	id.Payer, _ = wallet.ParseAddress(by.Address)
	found, err := s.Store.FindSettlement(s.Ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// call has the meter admit a call of a credential in a new API process and returns the reason of a
// refusal.
func (s *env) call(t *testing.T, credential string, units plan.Units) string {
	t.Helper()
	f := limits.New(s.Store, s.Counters, s.Hasher, time.Now)
	subject, refusal := f.IdentifyCredential(s.Ctx, credential, servicetest.Browser("").Network)
	if refusal != nil {
		return refusal.Reason.String()
	}
	_, a, err := f.AdmitOrLoad(s.Ctx, subject, &meter.Call{
		Mode: meter.Charge, Units: units, Chain: "base_mainnet", Service: "rpc", Method: "eth_call", Class: "standard",
	})
	if err != nil {
		t.Fatal(err)
	}
	return a.Refused
}

// forget deletes a settlement's workflow executions from Temporal.
func (s *env) forget(t *testing.T, id x402.ID) {
	t.Helper()
	space := s.space
	list := func() int {
		found, err := s.temporal.ListWorkflow(s.Ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: space, Query: "WorkflowId = '" + workflows.SettlementID(id) + "'",
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range found.GetExecutions() {
			_, _ = s.temporal.WorkflowService().DeleteWorkflowExecution(s.Ctx,
				&workflowservice.DeleteWorkflowExecutionRequest{Namespace: space, WorkflowExecution: e.GetExecution()})
		}
		return len(found.GetExecutions())
	}
	testkit.Eventually(t, 30*time.Second, func() bool { return list() > 0 }, "the flow is listed")
	testkit.Eventually(t, 30*time.Second, func() bool { return list() == 0 }, "the flow is forgotten")
}

func newCredential(t *testing.T, s *env) activities.NewCredential {
	t.Helper()
	secret, err := account.MintCredential(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return activities.NewCredential{Key: account.NewKeyID(), Digest: secret.Digest(s.Hasher), Prefix: secret.Prefix()}
}

func addressIn(t *testing.T, text string) wallet.Address {
	t.Helper()
	a, err := wallet.ParseAddress(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// described returns the search attributes of a settlement's workflow.
func (s *env) described(t *testing.T, id x402.ID) map[string]string {
	t.Helper()
	d, err := s.temporal.DescribeWorkflowExecution(s.Ctx, workflows.SettlementID(id), "")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for name, value := range d.GetWorkflowExecutionInfo().GetSearchAttributes().GetIndexedFields() {
		var text string
		if err := converter.GetDefaultDataConverter().FromPayload(value, &text); err == nil {
			found[name] = text
		}
	}
	return found
}
