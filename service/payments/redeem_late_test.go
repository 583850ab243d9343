package payments_test

import (
	"sync"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/service"
	"github.com/chainaccess/gateway/service/internal/servicetest"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/service/payments"
	"github.com/chainaccess/gateway/workflows"
)

// spellings returns n texts of one signature that differ in the case of their digits.
func spellings(signature string, n int) []string {
	all := make([]string, n)
	for i := range all {
		text, bit := []byte(signature), 0
		for at := 2; at < len(text); at++ {
			if text[at] >= 'a' && text[at] <= 'f' {
				if i>>bit&1 == 1 {
					text[at] -= 'a' - 'A'
				}
				bit++
			}
		}
		all[i] = string(text)
	}
	return all
}

// atOnce redeems one payment concurrently by several programs of its payer at two processes.
func (s *env) atOnce(hash string, signatures []string,
	redeem func(*service.Registry, *operation.Caller, payments.RedeemInput) (payments.Redeemed, *fault.Error)) (
	given map[string]int, refused map[fault.Reason]int,
) {
	var all sync.WaitGroup
	var mu sync.Mutex
	given, refused = map[string]int{}, map[fault.Reason]int{}
	for i, signature := range signatures {
		process, who := []*service.Registry{s.Registry, s.second}[i%2], s.visitor()
		all.Go(func() {
			out, refusal := redeem(process, who, payments.RedeemInput{
				TxHash: hash, Tier: plan.Balanced, Signature: signature,
			})
			mu.Lock()
			defer mu.Unlock()
			if refusal != nil {
				refused[refusal.Reason]++
				return
			}
			given[out.Credential]++
		})
	}
	all.Wait()
	return given, refused
}

func (s *env) once(at *service.Registry, who *operation.Caller,
	in payments.RedeemInput,
) (payments.Redeemed, *fault.Error) {
	return at.RedeemPayment.Invoke(s.Ctx, who, in)
}

// answered waits until the workflow has answered all redeems that were sent to it.
func (s *env) answered(t *testing.T, id x402.ID) {
	t.Helper()
	var sent, done int
	testkit.Eventually(t, 60*time.Second, func() bool {
		sent, done = 0, 0
		events := s.temporal.GetWorkflowHistory(s.Ctx, workflows.SettlementID(id), "", false,
			enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			event, err := events.Next()
			if err != nil {
				t.Fatal(err)
			}
			switch event.GetEventType() { //nolint:exhaustive // other events do not concern updates
			case enums.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED:
				sent++
			case enums.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED:
				done++
			}
		}
		return sent > 0 && sent == done
	}, "all redeems are answered; %d of %d", done, sent)
}

// works checks that there is exactly one credential, and that it works.
func (s *env) works(t *testing.T, given map[string]int) {
	t.Helper()
	working := 0
	for credential := range given {
		if s.call(t, credential, plan.Unit) == "" {
			working++
		}
	}
	t.Logf("%d credentials were given, %d work", len(given), working)
	if len(given) != 1 || working != 1 {
		t.Errorf("%d credentials were given and %d work, want the same one in all answers", len(given), working)
	}
}

func TestRedeem_LateUpdatesTakeNoCredentialAway(t *testing.T) {
	testkit.Slow(t)
	t.Parallel()
	s, payer := openEnv(t), servicetest.NewSigner(t)
	s.stop()
	hash := s.pay(transfer(90_000, payer))
	signatures := spellings(s.signed(t, payer, hash), 24)
	// Without a worker, the workflow outlives every request.
	if given, refused := s.atOnce(hash, signatures, s.once); len(given) != 0 ||
		refused[fault.DurableUnavailable] != 24 {
		t.Fatalf("without a worker: %d credentials, refused %v", len(given), refused)
	}
	s.work(t, time.Now)
	given, refused := s.atOnce(hash, signatures, s.redeemAsTold)
	if len(refused) != 0 {
		t.Errorf("refused %v", refused)
	}
	s.answered(t, s.settlement(t, payer, hash).ID)
	s.works(t, given)
}

func TestRedeem_SlowOnesOfOnePayerAreGivenOneCredential(t *testing.T) {
	t.Parallel()
	s, payer := openEnv(t), servicetest.NewSigner(t)
	hash := s.pay(transfer(90_000, payer))
	signatures := spellings(s.signed(t, payer, hash), 24)
	s.stop()
	var carrier sync.WaitGroup
	carrier.Go(func() { // one leads in each process
		testkit.Eventually(t, 30*time.Second, func() bool { return s.SharedRedeems()+s.second.SharedRedeems() == 22 },
			"all wait for the flow")
		s.work(t, time.Now)
	})
	given, refused := s.atOnce(hash, signatures, s.redeemAsTold)
	carrier.Wait()
	if len(refused) != 0 {
		t.Errorf("refused %v", refused)
	}
	s.answered(t, s.settlement(t, payer, hash).ID)
	s.works(t, given)
	// Once it was used, redeeming again returns another one.
	var first string
	for credential := range given {
		first = credential
	}
	again := s.redeem(t, payer, hash, "balanced")
	in := expect.In(t, "redeemed again")
	expect.NotEqual(in, again.Credential, first)
	expect.Equal(in, s.call(t, first, plan.Unit), fault.KeyInvalid.String())
	expect.Equal(in, s.call(t, again.Credential, plan.Unit), "")
}

func TestRedeem_AnAnswerThatWasLostIsToldAgainWhileItIsYoung(t *testing.T) {
	t.Parallel()
	s, payer := openEnv(t), servicetest.NewSigner(t)
	hash := s.pay(transfer(90_000, payer))
	lost := s.redeem(t, payer, hash, "balanced")
	out, refusal := s.once(s.second, s.visitor(), payments.RedeemInput{
		TxHash: hash, Tier: plan.Balanced, Signature: s.signed(t, payer, hash),
	})
	in := expect.In(t, "asked again at another process")
	require.Nil(in, refusal)
	expect.Equal(in, out.Credential, lost.Credential)
	expect.Equal(in, s.settlement(t, payer, hash).Rotations, 0)
	s.SQL(t, "UPDATE keys SET created_at = created_at - interval '16 seconds' WHERE door = 'credential'")
	later := s.redeem(t, payer, hash, "balanced")
	in = expect.In(t, "later")
	expect.NotEqual(in, later.Credential, lost.Credential)
	expect.Equal(in, s.call(t, lost.Credential, plan.Unit), fault.KeyInvalid.String())
	expect.Equal(in, s.call(t, later.Credential, plan.Unit), "")
}
