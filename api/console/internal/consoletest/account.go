package consoletest

import (
	"time"

	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/service/accounts"
	"github.com/chainaccess/gateway/service/advice"
	"github.com/chainaccess/gateway/service/agents"
	"github.com/chainaccess/gateway/service/keys"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/service/usage"
)

func sampleMembers() accounts.MemberList {
	return accounts.MemberList{
		Members: []accounts.Member{
			{
				UserID: "u1", Email: "mira@studio-north.example", Role: view.RoleOwner, Current: true,
				JoinedAt: Now.Add(-900 * time.Hour),
			},
			{
				UserID: "u2", Email: "jo@studio-north.example", Role: view.RoleMember,
				JoinedAt: Now.Add(-90 * time.Hour),
			},
		},
		Invitations: []accounts.Invitation{
			{
				ID: "i1", Email: "kim@studio-north.example", Role: view.RoleMember,
				ExpiresAt: Now.Add(48 * time.Hour),
			},
		},
	}
}

func sampleSessions() []accounts.ListedSession {
	return []accounts.ListedSession{
		{
			ID: "s1", Current: true,
			UserAgent: "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0",
			Network:   "203.0.113.0/24", BeganAt: Now, SeenAt: Now,
		},
		{ID: "s2", UserAgent: "curl/8.0", BeganAt: Now, SeenAt: Now},
	}
}

func sampleAgents() []agents.AgentView {
	return []agents.AgentView{
		{
			ID: "g1", Name: "trader-7", Address: "0x00000000219ab540356cBB839Cbe05303d7705Fa", ClaimedVia: "wallet",
			ClaimedAt: Now.Add(-time.Hour), KeyID: KeyOne, KeyPrefix: "cag_aHCrXoRO",
		},
		{
			ID: "g2", Name: "scout", Address: "0x00000000219ab540356cBB839Cbe05303d7705Fb", ClaimedVia: "wallet",
			ClaimedAt: Now.Add(-time.Hour), ServicesOff: []account.Service{account.Data},
		},
	}
}

func sampleLog() []accounts.AuditLine {
	return []accounts.AuditLine{{
		At: Now.Add(-time.Minute), Actor: "user u1", ActorEmail: "mira@studio-north.example",
		Origin: "console", Action: "configure_key", Reason: "configured", KeyID: KeyOne,
		Before: []byte(`{"monthly_cap":null,"caps":{}}`), After: []byte(`{"monthly_cap":500000,"caps":{"rpc":7}}`),
	}}
}

// accountCalls adds the operations of an account: usage, keys, settings and the log.
func (h *Operations) accountCalls(c *site.Calls) {
	limits := func() []keys.ServiceFence { return append([]keys.ServiceFence{}, h.Services...) }
	c.ExploreUsage = reads[usage.ExploreUsageInput](func() usage.ExploredUsage { return h.Explored })
	c.GetInsights = reads[operation.Nothing](func() advice.UsageInsights { return h.insights })
	c.ExportUsage = reads[usage.ExploreUsageInput](func() usage.UsageTable {
		return usage.UsageTable{
			FileName: "usage-7d-2026-11-20.csv", Media: "text/csv; charset=utf-8; header=present", Text: "key\r\n",
		}
	})
	c.UsageByDay = reads[usage.UsageByDayInput](func() usage.UsageByDay { return h.usage })
	c.CreateKey = Record[keys.CreateKeyInput](h, keys.CreatedKey{
		ID: KeyOne, Name: "indexer", Prefix: "cag_aHCrXoRO", PlaintextToken: Plaintext,
	})
	c.ListKeys = reads[keys.ListKeysInput](func() keys.KeyList { return keys.KeyList{Keys: h.Keys} })
	c.ConfigureKey = mixed(h, func() keys.ConfiguredKey { return keys.ConfiguredKey{Services: limits()} },
		func(in keys.ConfigureKeyInput) bool { return in == keys.ConfigureKeyInput{ID: in.ID} })
	c.NameAccount = Record[accounts.NameAccountInput](h, accounts.NamedAccount{Name: "Studio"})
	c.RevokeKey = Record[keys.RevokeKeyInput](h, keys.RevokedKey{Name: "indexer"})
	c.ConfigureServices = mixed(h, func() keys.ConfiguredServices {
		return keys.ConfiguredServices{Services: limits()}
	},
		func(in keys.ConfigureServicesInput) bool { return in == keys.ConfigureServicesInput{} })
	c.UpdateAccount = mixed(h, func() accounts.AccountSettings { return h.settings },
		func(in accounts.UpdateAccountInput) bool { return in == accounts.UpdateAccountInput{} })
	c.ListAgents = reads[operation.Nothing](func() agents.AgentList { return agents.AgentList{Agents: h.Agents} })
	c.AdoptKey = Record[agents.AdoptKeyInput](h, agents.AdoptedKey{ID: KeyTwo, Prefix: "cag_00aTz81b"})
	c.ListAudit = reads[accounts.ListAuditInput](func() accounts.AuditLog { return accounts.AuditLog{Lines: h.log} })
}
