package keys

import (
	"net/http"
	"slices"
	"strings"

	"github.com/chainaccess/gateway/api/console/paths"
	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/service/agents"
)

// Paths of claiming an agent: first the wallet is named, then it signs.
const (
	pathClaim     = paths.Agents + "/claim"
	pathClaimSign = pathClaim + "/sign"
)

const (
	addressField   = "address"
	signatureField = "signature"
	capField       = "monthly_request_cap"
)

var agentsCrumb = []view.Link{{Text: "Agents", To: paths.Agents}}

// claimPage asks for the name and the wallet of an agent.
type claimPage struct{ Name, Address view.Field }

func (claimPage) Head() view.Head {
	return view.Head{
		Template: "claim", Title: "Claim an agent", Section: view.SectionAgents, Crumbs: agentsCrumb,
		Scripts: []string{view.ScriptForms},
	}
}

// claimSignPage shows the message that the wallet signs, and asks for the signature.
type claimSignPage struct {
	Address        string
	Message        view.Copyable
	Minutes        string // how long it may be signed
	Signature, Cap view.Field
}

func (claimSignPage) Head() view.Head {
	return view.Head{
		Template: "claimsign", Title: "Sign with the wallet", Section: view.SectionAgents, Crumbs: agentsCrumb,
		Scripts: []string{view.ScriptCopy, view.ScriptForms},
	}
}

func claimPageOf(name, address string, wrong site.Mistakes) claimPage {
	named, wallet := nameField(name, wrong["name"]), view.Field{
		Name: addressField, Label: "Wallet", Required: true, Most: 42, Value: address, Error: wrong[addressField],
		Hint: "0x…", Rule: "The agent's own address: 0x and 40 hexadecimal digits.",
	}
	named.Rule = "What the agent is called; up to 80 characters."
	return claimPage{Name: named, Address: wallet}
}

// showClaim asks for the name and the wallet of an agent.
func showClaim(v *site.Request) error { return v.Show(http.StatusOK, claimPageOf("", "", nil)) }

// startClaim shows the message for the wallet to sign.
func startClaim(v *site.Request) error {
	name, address := v.R.PostForm.Get("name"), strings.TrimSpace(v.R.PostForm.Get(addressField))
	made, err := site.Ask(v, v.Calls.ClaimAgentStart, agents.ClaimAgentStartInput{Name: name, Address: address})
	if wrong := site.MistakesOf(err, "name", addressField); wrong != nil {
		return v.Show(http.StatusUnprocessableEntity, claimPageOf(name, address, wrong), wrong.Notices()...)
	}
	if err != nil {
		return err
	}
	p := claimSignPageOf(made.Address, made.MessageToSign, "", "", nil)
	p.Minutes = view.Count(made.ExpiresInSeconds/60, "minute")
	return v.Show(http.StatusOK, p)
}

func claimSignPageOf(address, message, signature, capTyped string, wrong site.Mistakes) claimSignPage {
	limit := keyCapField(capTyped, wrong[capField])
	limit.Rule = "Units that the agent's key may use in a period: 50,000 when empty, 0 for no cap."
	return claimSignPage{
		Address: address, Message: view.Copyable{
			ID: "message-to-sign", What: "the message to sign", Text: message, Wrap: true,
		}, Cap: limit,
		Signature: view.Field{
			Name: signatureField, Label: "Signature", Required: true, Most: 20_000, Value: signature,
			Error: wrong[signatureField], Hint: "0x…", Rule: "What the wallet returned: 0x and hexadecimal digits.",
		},
	}
}

// maySignAgain are the refusals after which the same message may be signed, or its signature sent,
// again.
var maySignAgain = []fault.Reason{fault.BindingRefused, fault.NotYetInForce, fault.NoUpstream, fault.DurableUnavailable}

// finishClaim creates the agent and shows its key once.
func finishClaim(v *site.Request) error {
	form := v.R.PostForm
	address, message := form.Get(addressField), site.UnixLines(form.Get(view.MessageField))
	signature, capTyped := strings.TrimSpace(form.Get(signatureField)), strings.TrimSpace(form.Get(capField))
	again := func(code int, wrong site.Mistakes) error {
		return v.Show(code, claimSignPageOf(address, message, signature, capTyped, wrong), wrong.Notices()...)
	}
	in := agents.ClaimAgentInput{Address: address, Signature: signature}
	if capTyped != "" {
		monthly, ok := site.ParseUnits(capTyped)
		if !ok {
			return again(http.StatusUnprocessableEntity, site.Mistakes{capField: site.WholeUnits})
		}
		in.MonthlyRequestCap = &monthly
	}
	made, err := site.Ask(v, v.Calls.ClaimAgentComplete, in)
	if wrong := site.MistakesOf(err, signatureField, capField); wrong != nil {
		return again(http.StatusUnprocessableEntity, wrong)
	}
	if refused := fault.From(err); err != nil && slices.Contains(maySignAgain, refused.Reason) {
		return again(refused.HTTP(), site.Mistakes{"": refused.Message})
	}
	if err != nil {
		return err
	}
	return v.Show(http.StatusCreated, secretPage{
		Heading: "Agent claimed", Name: made.Address, Prefix: made.KeyPrefix, Section: view.SectionAgents,
		Secret:    view.Copyable{ID: "secret", What: "the agent's API key", Text: made.PlaintextToken, Wrap: true},
		Stored:    view.Link{Text: "I have stored it", To: paths.Keys + "/" + made.KeyID},
		FirstCall: view.FirstCall(v.PublicURL),
	})
}
