package keys

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/chainaccess/gateway/api/console/paths"
	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/service/agents"
	"github.com/chainaccess/gateway/service/operation"
)

const claimCodeField = "claim_code"

func claimField(value string) view.Field {
	return view.Field{
		Name: claimCodeField, Label: "Claim code", Required: true, Most: 100, Value: value, Hint: "cagc_…",
		Rule: "54 characters that begin with cagc_. It works once.",
	}
}

const claimedByCode = "claim_code"

// viaWords describe how an agent joined the account.
var viaWords = map[string]string{"wallet": "wallet signature", claimedByCode: "claim code"}

// listAgents lists the agents and takes claim codes. A claim link carries the code.
func listAgents(v *site.Request) error {
	fleet, err := site.Ask(v, v.Calls.ListAgents, operation.Nothing{})
	if err != nil {
		return err
	}
	query := v.R.URL.Query()
	if query.Has(claimCodeField) {
		v.HideReferrer() // the code is in the URL
	}
	p := agentsPage{Claim: claimField(strings.TrimSpace(query.Get(claimCodeField))), Owner: v.Owner()}
	var notices []view.Notice
	for i := range fleet.Agents {
		a := &fleet.Agents[i]
		p.Agents = append(p.Agents, agentRowOf(v, a))
		if a.ClaimedVia == claimedByCode && a.KeyID == query.Get("adopted") {
			notices = append(notices, view.Notice{
				Tone: view.Good, Title: "Key adopted",
				Text: a.KeyPrefix + "… has this account's plan, packs and limits from now on.",
			})
		}
	}
	if len(p.Agents) == 0 {
		p.Empty = &view.Empty{
			Title: "No agent yet",
			Text: "An agent makes its own key with this command; the claim code is in the answer, under " +
				"doorways.adopt.", Command: &view.Copyable{
				ID: "agent-key-command", What: "the command for an agent's key",
				Text: "curl -X POST " + v.PublicURL + "/keys",
			},
		}
	}
	return v.Show(http.StatusOK, p, notices...)
}

func agentRowOf(v *site.Request, a *agents.AgentView) agentRow {
	return agentRow{
		Name: agentTitle(a.Name), Address: a.Address, Via: viaWords[a.ClaimedVia], Since: v.Reader.Moment(a.ClaimedAt),
		KeyID: a.KeyID, KeyPrefix: a.KeyPrefix, Cap: view.CapWords(a.MonthlyRequestCap),
		Off: view.ServicesOff(a.ServicesOff),
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
func adopt(v *site.Request) error {
	adopted, err := site.Ask(v, v.Calls.AdoptKey, agents.AdoptKeyInput{
		ClaimCode: strings.TrimSpace(v.R.PostForm.Get(claimCodeField)),
	})
	if err == nil {
		return backToAgents(v, url.Values{"adopted": {adopted.ID}})
	}
	refused, ok := errors.AsType[*fault.Error](err)
	if !ok || refused.HTTP() >= http.StatusInternalServerError || refused.Reason == fault.AccountSuspended {
		return err
	}
	v.Flash(view.Bad, "Nothing was adopted", refused.Message)
	return backToAgents(v, url.Values{"refused": {refused.Reason.String()}})
}

func backToAgents(v *site.Request, result url.Values) error {
	http.Redirect(v.W, v.R, paths.Agents+"?"+result.Encode(), http.StatusFound)
	return nil
}
