package dashboard

import (
	"net/http"

	"github.com/chainaccess/gateway/account"
	"github.com/chainaccess/gateway/capability"
)

func claimField(value string) field {
	return field{
		Name: "claim_code", Label: "Claim code", Required: true, Most: 80, Value: value, Hint: "cagc_…",
		Rule: "54 characters that begin with cagc_. It works once.",
	}
}

// agents lists the fleet, and takes claim codes. A claim link brings the code along.
func (v *visit) agents() error {
	list, err := ask(v, v.Calls.ListKeys, capability.ListKeysInput{})
	if err != nil {
		return err
	}
	p := agentsPage{Claim: claimField(v.r.URL.Query().Get("claim_code")), Owner: v.owner()}
	for i := range list.Keys {
		if k := &list.Keys[i]; k.Door == account.DoorAdopted && k.Status == account.Active && k.Agent == "" {
			p.Agents = append(p.Agents, v.adoptedRow(k))
		}
	}
	if len(p.Agents) == 0 {
		p.Empty = &empty{
			Title: "No agent yet", Text: "An agent makes its own key with this command; the claim code is in the answer, under doorways.adopt.",
			Command: &copyable{ID: "agent-key-command", What: "the command for an agent's key", Text: "curl -X POST " + v.PublicURL + "/keys"},
		}
	}
	return v.show(http.StatusOK, p)
}

func (v *visit) adoptedRow(k *capability.KeyView) agentRow {
	return agentRow{
		Name: keyTitle(k.Name, k.Prefix), Via: "claim code", Since: v.reader.moment(k.CreatedAt), KeyID: k.ID, KeyPrefix: k.Prefix,
		Cap: capWords(k.MonthlyRequestCap), Off: servicesOff(k.ServicesOff),
	}
}
