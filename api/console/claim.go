package console

import (
	"net/http"
	"slices"
	"strings"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/service"
)

// Paths of claiming an agent: first the wallet is named, then it signs.
const (
	pathClaim     = pathAgents + "/claim"
	pathClaimSign = pathClaim + "/sign"
)

const (
	addressField   = "address"
	signatureField = "signature"
	capOfField     = "monthly_request_cap"
)

var agentsCrumb = []link{{"Agents", pathAgents}}

// claimPage asks for the name and the wallet of an agent.
type claimPage struct{ Name, Address field }

func (claimPage) head() head {
	return head{
		Template: "claim", Title: "Claim an agent", Section: sectionAgents, Crumbs: agentsCrumb,
		Scripts: []string{scriptForms},
	}
}

// claimSignPage shows the message that the wallet signs, and asks for the signature.
type claimSignPage struct {
	Address        string
	Message        copyable
	Minutes        string // how long it may be signed
	Signature, Cap field
}

func (claimSignPage) head() head {
	return head{
		Template: "claimsign", Title: "Sign with the wallet", Section: sectionAgents, Crumbs: agentsCrumb,
		Scripts: []string{scriptCopy, scriptForms},
	}
}

func claimPageOf(name, address string, wrong mistakes) claimPage {
	named, wallet := nameField(name, wrong["name"]), field{
		Name: addressField, Label: "Wallet", Required: true, Most: 42, Value: address, Error: wrong[addressField],
		Hint: "0x…", Rule: "The agent's own address: 0x and 40 hexadecimal digits.",
	}
	named.Rule = "What the agent is called; up to 80 characters."
	return claimPage{Name: named, Address: wallet}
}

// claim asks for the name and the wallet of an agent.
func (v *request) claim() error { return v.show(http.StatusOK, claimPageOf("", "", nil)) }

// startClaim shows the message for the wallet to sign.
func (v *request) startClaim() error {
	name, address := v.r.PostForm.Get("name"), strings.TrimSpace(v.r.PostForm.Get(addressField))
	made, err := ask(v, v.Calls.ClaimAgentStart, service.ClaimAgentStartInput{Name: name, Address: address})
	if wrong := mistakesOf(err, "name", addressField); wrong != nil {
		return v.show(http.StatusUnprocessableEntity, claimPageOf(name, address, wrong), wrong.notices()...)
	}
	if err != nil {
		return err
	}
	p := claimSignPageOf(made.Address, made.MessageToSign, "", "", nil)
	p.Minutes = count(made.ExpiresInSeconds/60, "minute")
	return v.show(http.StatusOK, p)
}

func claimSignPageOf(address, message, signature, capTyped string, wrong mistakes) claimSignPage {
	limit := keyCapField(capTyped, wrong[capOfField])
	limit.Rule = "Units that the agent's key may use in a period: 50,000 when empty, 0 for no cap."
	return claimSignPage{
		Address: address, Message: copyable{
			ID: "message-to-sign", What: "the message to sign", Text: message, Wrap: true,
		}, Cap: limit,
		Signature: field{
			Name: signatureField, Label: "Signature", Required: true, Most: 20_000, Value: signature,
			Error: wrong[signatureField], Hint: "0x…", Rule: "What the wallet returned: 0x and hexadecimal digits.",
		},
	}
}

// maySignAgain are the refusals after which the same message may be signed, or its signature sent,
// again.
var maySignAgain = []fault.Reason{fault.BindingRefused, fault.NotYetInForce, fault.NoUpstream, fault.DurableUnavailable}

// finishClaim creates the agent and shows its key once.
func (v *request) finishClaim() error {
	form := v.r.PostForm
	address, message := form.Get(addressField), unixLines(form.Get(messageField))
	signature, capTyped := strings.TrimSpace(form.Get(signatureField)), strings.TrimSpace(form.Get(capOfField))
	again := func(code int, wrong mistakes) error {
		return v.show(code, claimSignPageOf(address, message, signature, capTyped, wrong), wrong.notices()...)
	}
	in := service.ClaimAgentInput{Address: address, Signature: signature}
	if capTyped != "" {
		monthly, ok := parseUnits(capTyped)
		if !ok {
			return again(http.StatusUnprocessableEntity, mistakes{capOfField: wholeUnits})
		}
		in.MonthlyRequestCap = &monthly
	}
	made, err := ask(v, v.Calls.ClaimAgentComplete, in)
	if wrong := mistakesOf(err, signatureField, capOfField); wrong != nil {
		return again(http.StatusUnprocessableEntity, wrong)
	}
	if refused := fault.From(err); err != nil && slices.Contains(maySignAgain, refused.Reason) {
		return again(refused.HTTP(), mistakes{"": refused.Message})
	}
	if err != nil {
		return err
	}
	return v.show(http.StatusCreated, secretPage{
		Heading: "Agent claimed", Name: made.Address, Prefix: made.KeyPrefix, Section: sectionAgents,
		Secret:    copyable{ID: "secret", What: "the agent's API key", Text: made.PlaintextToken, Wrap: true},
		Stored:    link{"I have stored it", pathKeys + "/" + made.KeyID},
		FirstCall: firstCall(v.PublicURL),
	})
}
