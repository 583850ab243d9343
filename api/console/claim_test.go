package console

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/service"
)

const agentWallet = "0x00000000219ab540356cBB839Cbe05303d7705Fa"

// claimCalls adds the operations for claiming an agent.
func (h *house) claimCalls(c Calls) Calls {
	c.ClaimAgentStart = changes[service.ClaimAgentStartInput](h, service.Challenged{
		Address: agentWallet, MessageToSign: "gateway.example wants\n<you>", ExpiresInSeconds: 600,
	})
	c.ClaimAgentComplete = changes[service.ClaimAgentInput](h, service.ClaimedAgent{
		Address: agentWallet, PlaintextToken: plaintext, KeyID: keyOne, KeyPrefix: "cag_aHCrXoRO",
	})
	return c
}

// claimSamples are the pages for claiming an agent.
func claimSamples(name string) map[string]page {
	return map[string]page{
		"claim": claimPageOf(name, name, mistakes{addressField: name}),
		"claim-sign": claimSignPageOf(agentWallet, name+"\nNonce: 01234567", name, name,
			mistakes{signatureField: name}),
	}
}

func TestClaim_TakesTheSignatureOfTheAgentsWallet(t *testing.T) {
	t.Parallel()
	h := newHouse()
	b := personOf(t, h)
	shown := b.post(pathClaim, url.Values{"name": {"scout"}, addressField: {" " + agentWallet}})
	if shown.status != http.StatusOK || !strings.Contains(shown.body, "gateway.example wants\n&lt;you&gt;") ||
		!strings.Contains(shown.body, "10 minutes") {
		t.Fatalf("the message is shown with %d: %s", shown.status, shown.body)
	}
	if in, want := lastChange[service.ClaimAgentStartInput](t, h),
		(service.ClaimAgentStartInput{Name: "scout", Address: agentWallet}); in != want {
		t.Errorf("it asks for %+v, want %+v", in, want)
	}
	signed := url.Values{
		addressField: {agentWallet}, messageField: {"gateway.example wants\r\n<you>"}, signatureField: {" 0xabcd\n"},
		capOfField: {"9,000"},
	}
	made := b.post(pathClaimSign, signed)
	in := lastChange[service.ClaimAgentInput](t, h)
	if made.status != http.StatusCreated || strings.Count(made.body, plaintext) != 1 || in.Signature != "0xabcd" ||
		in.Address != agentWallet || *in.MonthlyRequestCap != 9_000 {
		t.Errorf("it answers %d to %+v: %s", made.status, in, made.body)
	}
	signed.Del(capOfField)
	b.post(pathClaimSign, signed)
	if in := lastChange[service.ClaimAgentInput](t, h); in.MonthlyRequestCap != nil {
		t.Errorf("without a cap it asks for %d", *in.MonthlyRequestCap)
	}
}

// When a signature is wrong or cannot be checked, it can be corrected on the same page. The message
// is valid for ten minutes.
func TestClaim_RefusedSignatureKeepsItsMessage(t *testing.T) {
	t.Parallel()
	h := newHouse()
	b := personOf(t, h)
	signed := url.Values{addressField: {agentWallet}, messageField: {"sign <this>"}, signatureField: {"0xabcd"}}
	for reason, want := range map[fault.Reason]int{
		fault.BindingRefused: http.StatusUnprocessableEntity, fault.NotYetInForce: http.StatusServiceUnavailable,
	} {
		h.refusal = fault.New(reason, "Do it again.")
		got := b.post(pathClaimSign, signed)
		if got.status != want || !strings.Contains(got.body, "sign &lt;this&gt;") ||
			!strings.Contains(got.body, `value="0xabcd"`) || !strings.Contains(got.body, "Do it again.") {
			t.Errorf("%s answers %d: %s", reason, got.status, got.body)
		}
	}
	h.refusal = nil
	signed.Set(capOfField, "much")
	if got := b.post(pathClaimSign, signed); got.status != http.StatusUnprocessableEntity ||
		!strings.Contains(got.body, wholeUnits) || h.changed() != 0 {
		t.Errorf("a cap that is none answers %d", got.status)
	}
	h.refusal = fault.New(fault.FieldRefused, "address: takes 0x and 40 hexadecimal digits.").With("field",
		addressField)
	if got := b.post(pathClaim,
		url.Values{"name": {"scout"}, addressField: {"0x1"}}); got.status != http.StatusUnprocessableEntity ||
		!strings.Contains(got.body, `id="address-error"`) {
		t.Errorf("a wallet that is none answers %d: %s", got.status, got.body)
	}
}
