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
	"github.com/chainaccess/gateway/service"
)

func TestClaim_TakesTheSignatureOfTheAgentsWallet(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	b := consoletest.SignedIn(t, h, Register)
	shown := b.Post(pathClaim, url.Values{"name": {"scout"}, addressField: {" " + consoletest.AgentWallet}})
	if shown.Status != http.StatusOK || !strings.Contains(shown.Body, "gateway.example wants\n&lt;you&gt;") ||
		!strings.Contains(shown.Body, "10 minutes") {
		t.Fatalf("the message is shown with %d: %s", shown.Status, shown.Body)
	}
	if in, want := consoletest.LastChange[service.ClaimAgentStartInput](t, h),
		(service.ClaimAgentStartInput{Name: "scout", Address: consoletest.AgentWallet}); in != want {
		t.Errorf("it asks for %+v, want %+v", in, want)
	}
	signed := url.Values{
		addressField: {consoletest.AgentWallet}, view.MessageField: {"gateway.example wants\r\n<you>"},
		signatureField: {" 0xabcd\n"},
		capField:       {"9,000"},
	}
	made := b.Post(pathClaimSign, signed)
	in := consoletest.LastChange[service.ClaimAgentInput](t, h)
	if made.Status != http.StatusCreated || strings.Count(made.Body, consoletest.Plaintext) != 1 ||
		in.Signature != "0xabcd" ||
		in.Address != consoletest.AgentWallet || *in.MonthlyRequestCap != 9_000 {
		t.Errorf("it answers %d to %+v: %s", made.Status, in, made.Body)
	}
	signed.Del(capField)
	b.Post(pathClaimSign, signed)
	if in := consoletest.LastChange[service.ClaimAgentInput](t, h); in.MonthlyRequestCap != nil {
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
		if got.Status != want || !strings.Contains(got.Body, "sign &lt;this&gt;") ||
			!strings.Contains(got.Body, `value="0xabcd"`) || !strings.Contains(got.Body, "Do it again.") {
			t.Errorf("%s answers %d: %s", reason, got.Status, got.Body)
		}
	}
	h.Refusal = nil
	signed.Set(capField, "much")
	if got := b.Post(pathClaimSign, signed); got.Status != http.StatusUnprocessableEntity ||
		!strings.Contains(got.Body, site.WholeUnits) || h.ChangeCount() != 0 {
		t.Errorf("a cap that is none answers %d", got.Status)
	}
	h.Refusal = fault.New(fault.FieldRefused, "address: takes 0x and 40 hexadecimal digits.").With("field",
		addressField)
	if got := b.Post(pathClaim,
		url.Values{"name": {"scout"}, addressField: {"0x1"}}); got.Status != http.StatusUnprocessableEntity ||
		!strings.Contains(got.Body, `id="address-error"`) {
		t.Errorf("a wallet that is none answers %d: %s", got.Status, got.Body)
	}
}
