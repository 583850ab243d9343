package keys

import (
	"maps"
	"testing"
	"time"

	"github.com/chainaccess/gateway/api/console/internal/consoletest"
	"github.com/chainaccess/gateway/api/console/paths"
	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/view"
)

// samples are the pages of keys and agents; name is a text that somebody chose.
func samples(name string) map[string]view.Page {
	r, rows := consoletest.Reader(), consoletest.SampleKeys(name)
	revoked := rows[1]
	revoked.ID, revoked.Name, revoked.Status = "019a9f2e-1111-7000-8000-000000000009", "old",
		view.Status{Tone: view.Bad, Text: "revoked"}
	capField := view.Field{
		Name: "monthly_request_cap", Label: "Monthly cap",
		Rule: "Whole units; nothing or 0 for no cap. At most the account's 1,000,000.", Mode: "numeric",
		Value: "500000",
	}
	all := map[string]view.Page{
		"keys": keysPage{
			Keys: rows, Total: 120, Findable: true, Find: view.Field{Value: name},
			Filters: view.FiltersOf(paths.Keys, [][2]string{{"", "Active (119)"}, {showRevoked, "Revoked (1)"}}, ""),
			Pages:   "Page 2 of 3", Newer: paths.Keys, Older: "/keys?page=3", Status: name,
		},
		"keys-empty": keysPage{Empty: &view.Empty{
			Title: "No key yet", Text: "A key is what programs send with each call.",
			Action: &view.Link{Text: "Create key", To: "/keys/new"},
		}},
		"new-key": newKeyPage{Name: consoletest.SampleField("name", "Name"), Cap: capField},
		"secret": secretPage{
			Heading: "Key created", Name: name, Prefix: "cag_aHCrXoRO", Section: view.SectionKeys,
			Secret: view.Copyable{
				ID: "secret", What: "the API key", Text: "cag_aHCrXoRO8jJkkpA0AmJRr2oWWKCKkKJlfPaMzyJtGR334ZJfk",
				Wrap: true,
			},
			Stored:    view.Link{Text: "I have stored it", To: "/keys/" + rows[0].ID},
			FirstCall: view.FirstCall("https://gateway.example"),
		},
		"key": keyPage{
			Key: rows[0], DoorMeaning: "made by this account", Name: consoletest.SampleField("name", "Name"),
			Cap:      capField,
			Services: consoletest.SampleServices(), Editable: true, Limits: []view.MeterBar{
				view.NewMeterBar("Key's cap", 400_000_000, 500_000_000,
					"At 100 % this key is refused with -32006 until 1 Dec 2026."),
			},
		},
		"key-revoked": keyPage{
			Key: revoked, DoorMeaning: "made by this account", Revoked: r.Moment(consoletest.Now.Add(-time.Hour)),
			Bound: "0x00000000219ab540356cBB839Cbe05303d7705Fa",
		},
		"agents": agentsPage{
			Owner: true, Claim: view.Field{
				Name: "claim_code", Label: "Claim code", Required: true, Rule: "Begins with cagc_ and works once.",
				Error: "This code is not known.",
			},
			Agents: []agentRow{
				{
					Name: name, Address: "0x00000000219ab540356cBB839Cbe05303d7705Fa", Via: "wallet signature",
					Since: r.Moment(consoletest.Now.Add(-100 * time.Hour)), KeyID: rows[2].ID,
					KeyPrefix: rows[2].Prefix,
					Cap:       "50,000", Off: "data",
				},
				{Name: "scout", Via: "claim code", Since: r.Moment(consoletest.Now.Add(-time.Hour)), Cap: "50,000"},
			},
		},
		"agents-empty": agentsPage{
			Owner: true, Claim: consoletest.SampleField("claim_code", "Claim code"),
			Empty: &view.Empty{
				Title: "No agent yet",
				Text:  "An agent makes its own key with this command and tells you the claim code.",
				Command: &view.Copyable{
					ID: "agent-key", What: "the command for a key", Text: "curl -X POST https://gateway.example/keys",
				},
			},
		},
	}
	maps.Copy(all, claimSamples(name))
	return all
}

// claimSamples are the pages for claiming an agent.
func claimSamples(name string) map[string]view.Page {
	return map[string]view.Page{
		"claim": claimPageOf(name, name, site.Mistakes{addressField: name}),
		"claim-sign": claimSignPageOf(consoletest.AgentWallet, name+"\nNonce: 01234567", name, name,
			site.Mistakes{signatureField: name}),
	}
}

func TestPages_KeepToTheRules(t *testing.T) {
	t.Parallel()
	consoletest.CheckSection(t, templates, samples)
}
