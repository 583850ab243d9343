package console

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/service"
)

const claimCodeField = "claim_code"

func claimField(value string) field {
	return field{
		Name: claimCodeField, Label: "Claim code", Required: true, Most: 100, Value: value, Hint: "cagc_…",
		Rule: "54 characters that begin with cagc_. It works once.",
	}
}

const claimedByCode = "claim_code"

// viaWords describe how an agent joined the account.
var viaWords = map[string]string{"wallet": "wallet signature", claimedByCode: "claim code"}

// agents lists the agents and takes claim codes. A claim link carries the code.
func (v *request) agents() error {
	fleet, err := ask(v, v.Calls.ListAgents, service.Nothing{})
	if err != nil {
		return err
	}
	query := v.r.URL.Query()
	if query.Has(claimCodeField) {
		v.hideReferrer() // the code is in the URL
	}
	p := agentsPage{Claim: claimField(strings.TrimSpace(query.Get(claimCodeField))), Owner: v.owner()}
	var notices []notice
	for i := range fleet.Agents {
		a := &fleet.Agents[i]
		p.Agents = append(p.Agents, v.agentRow(a))
		if a.ClaimedVia == claimedByCode && a.KeyID == query.Get("adopted") {
			notices = append(notices, notice{
				Tone: good, Title: "Key adopted",
				Text: a.KeyPrefix + "… has this account's plan, packs and limits from now on.",
			})
		}
	}
	if len(p.Agents) == 0 {
		p.Empty = &empty{
			Title: "No agent yet",
			Text: "An agent makes its own key with this command; the claim code is in the answer, under " +
				"doorways.adopt.", Command: &copyable{
				ID: "agent-key-command", What: "the command for an agent's key",
				Text: "curl -X POST " + v.PublicURL + "/keys",
			},
		}
	}
	return v.show(http.StatusOK, p, notices...)
}

func (v *request) agentRow(a *service.AgentView) agentRow {
	return agentRow{
		Name: agentTitle(a.Name), Address: a.Address, Via: viaWords[a.ClaimedVia], Since: v.reader.moment(a.ClaimedAt),
		KeyID: a.KeyID, KeyPrefix: a.KeyPrefix, Cap: capWords(a.MonthlyRequestCap), Off: servicesOff(a.ServicesOff),
	}
}

// agentTitle returns the title of an adopted key's agent, because keys that programs make have no
// name.
func agentTitle(name string) string {
	if name == "" {
		return "Unnamed"
	}
	return name
}

// adopt adopts a key and redirects to the agents with the result (docs/interface.md, 2.4): the
// key's id in the URL, or the refusal as a message.
func (v *request) adopt() error {
	adopted, err := ask(v, v.Calls.AdoptKey, service.AdoptKeyInput{
		ClaimCode: strings.TrimSpace(v.r.PostForm.Get(claimCodeField)),
	})
	if err == nil {
		return v.backToAgents(url.Values{"adopted": {adopted.ID}})
	}
	refused, ok := errors.AsType[*fault.Error](err)
	if !ok || refused.HTTP() >= http.StatusInternalServerError || refused.Reason == fault.AccountSuspended {
		return err
	}
	v.flash(bad, "Nothing was adopted", refused.Message)
	return v.backToAgents(url.Values{"refused": {refused.Reason.String()}})
}

func (v *request) backToAgents(result url.Values) error {
	http.Redirect(v.w, v.r, pathAgents+"?"+result.Encode(), http.StatusFound)
	return nil
}
