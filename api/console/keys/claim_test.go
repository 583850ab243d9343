package keys

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/api/console/internal/consoletest"
	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/service/agents"
)

func TestClaim_TakesTheSignatureOfTheAgentsWallet(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	b := consoletest.SignedIn(t, h, Register)
	shown := b.Post(pathClaim, url.Values{"name": {"scout"}, addressField: {" " + consoletest.AgentWallet}})
	require.Equal(t, shown.Status, http.StatusOK)
	require.Contains(t, shown.Body, "gateway.example wants\n&lt;you&gt;")
	require.Contains(t, shown.Body, "10 minutes")
	if in, want := consoletest.LastChange[agents.ClaimAgentStartInput](t, h),
		(agents.ClaimAgentStartInput{Name: "scout", Address: consoletest.AgentWallet}); in != want {
		t.Errorf("it asks for %+v, want %+v", in, want)
	}
	signed := url.Values{
		addressField: {consoletest.AgentWallet}, view.MessageField: {"gateway.example wants\r\n<you>"},
		signatureField: {" 0xabcd\n"},
		capField:       {"9,000"},
	}
	made := b.Post(pathClaimSign, signed)
	in := consoletest.LastChange[agents.ClaimAgentInput](t, h)
	expect.Equal(t, made.Status, http.StatusCreated)
	expect.Equal(t, strings.Count(made.Body, consoletest.Plaintext), 1, made.Body)
	expect.Equal(t, in.Signature, "0xabcd")
	expect.Equal(t, in.Address, consoletest.AgentWallet)
	expect.Equal(t, *in.MonthlyRequestCap, 9_000)
	signed.Del(capField)
	b.Post(pathClaimSign, signed)
	if in := consoletest.LastChange[agents.ClaimAgentInput](t, h); in.MonthlyRequestCap != nil {
		t.Errorf("without a cap it asks for %d", *in.MonthlyRequestCap)
	}
}

// When a signature is wrong or cannot be checked, it can be corrected on the same page. The message
// is valid for ten minutes.
func TestClaim_RefusedSignatureKeepsItsMessage(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	b := consoletest.SignedIn(t, h, Register)
	signed := url.Values{
		addressField: {consoletest.AgentWallet}, view.MessageField: {"sign <this>"},
		signatureField: {"0xabcd"},
	}
	for reason, want := range map[fault.Reason]int{
		fault.BindingRefused: http.StatusUnprocessableEntity, fault.NotYetInForce: http.StatusServiceUnavailable,
	} {
		h.Refusal = fault.New(reason, "Do it again.")
		got := b.Post(pathClaimSign, signed)
		in := expect.In(t, "%s", reason)
		expect.Equal(in, got.Status, want)
		expect.Contains(in, got.Body, "sign &lt;this&gt;")
		expect.Contains(in, got.Body, `value="0xabcd"`)
		expect.Contains(in, got.Body, "Do it again.")
	}
	h.Refusal = nil
	signed.Set(capField, "much")
	got := b.Post(pathClaimSign, signed)
	in := expect.In(t, "a cap that is none")
	expect.Equal(in, got.Status, http.StatusUnprocessableEntity)
	expect.Contains(in, got.Body, site.WholeUnits)
	expect.Equal(in, h.ChangeCount(), 0)
	h.Refusal = fault.New(fault.FieldRefused, "address: takes 0x and 40 hexadecimal digits.").With("field",
		addressField)
	if got := b.Post(pathClaim,
		url.Values{"name": {"scout"}, addressField: {"0x1"}}); got.Status != http.StatusUnprocessableEntity ||
		!strings.Contains(got.Body, `id="address-error"`) {
		t.Errorf("a wallet that is none answers %d: %s", got.Status, got.Body)
	}
}
