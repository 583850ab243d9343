package consoletest

import (
	"time"

	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/service"
)

func sampleMembers() service.MemberList {
	return service.MemberList{
		Members: []service.Member{
			{
				UserID: "u1", Email: "mira@studio-north.example", Role: view.RoleOwner, Current: true,
				JoinedAt: Now.Add(-900 * time.Hour),
			},
			{
				UserID: "u2", Email: "jo@studio-north.example", Role: view.RoleMember,
				JoinedAt: Now.Add(-90 * time.Hour),
			},
		},
		Invitations: []service.Invitation{
			{
				ID: "i1", Email: "kim@studio-north.example", Role: view.RoleMember,
				ExpiresAt: Now.Add(48 * time.Hour),
			},
		},
	}
}

func sampleSessions() []service.ListedSession {
	return []service.ListedSession{
		{
			ID: "s1", Current: true,
			UserAgent: "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0",
			Network:   "203.0.113.0/24", BeganAt: Now, SeenAt: Now,
		},
		{ID: "s2", UserAgent: "curl/8.0", BeganAt: Now, SeenAt: Now},
	}
}

func sampleAgents() []service.AgentView {
	return []service.AgentView{
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

func sampleLog() []service.AuditLine {
	return []service.AuditLine{{
		At: Now.Add(-time.Minute), Actor: "user u1", ActorEmail: "mira@studio-north.example",
		Origin: "console", Action: "configure_key", Reason: "configured", KeyID: KeyOne,
		Before: []byte(`{"monthly_cap":null,"caps":{}}`), After: []byte(`{"monthly_cap":500000,"caps":{"rpc":7}}`),
	}}
}

// accountCalls adds the operations of an account: usage, keys, settings and the log.
func (h *Operations) accountCalls(c *site.Calls) {
	fences := func() []service.ServiceFence { return append([]service.ServiceFence{}, h.Services...) }
	c.ExploreUsage = reads[service.ExploreUsageInput](func() service.ExploredUsage { return h.Explored })
	c.GetInsights = reads[service.Nothing](func() service.UsageInsights { return h.insights })
	c.ExportUsage = reads[service.ExploreUsageInput](func() service.UsageTable {
		return service.UsageTable{
			FileName: "usage-7d-2026-11-20.csv", Media: "text/csv; charset=utf-8; header=present", Text: "key\r\n",
		}
	})
	c.UsageByDay = reads[service.UsageByDayInput](func() service.UsageByDay { return h.usage })
	c.CreateKey = Record[service.CreateKeyInput](h, service.CreatedKey{
		ID: KeyOne, Name: "indexer", Prefix: "cag_aHCrXoRO", PlaintextToken: Plaintext,
	})
	c.ListKeys = reads[service.ListKeysInput](func() service.KeyList { return service.KeyList{Keys: h.Keys} })
	c.ConfigureKey = mixed(h, func() service.ConfiguredKey { return service.ConfiguredKey{Services: fences()} },
		func(in service.ConfigureKeyInput) bool { return in == service.ConfigureKeyInput{ID: in.ID} })
	c.NameAccount = Record[service.NameAccountInput](h, service.NamedAccount{Name: "Studio"})
	c.RevokeKey = Record[service.RevokeKeyInput](h, service.RevokedKey{Name: "indexer"})
	c.ConfigureServices = mixed(h, func() service.ConfiguredServices {
		return service.ConfiguredServices{Services: fences()}
	},
		func(in service.ConfigureServicesInput) bool { return in == service.ConfigureServicesInput{} })
	c.UpdateAccount = mixed(h, func() service.AccountSettings { return h.settings },
		func(in service.UpdateAccountInput) bool { return in == service.UpdateAccountInput{} })
	c.ListAgents = reads[service.Nothing](func() service.AgentList { return service.AgentList{Agents: h.Agents} })
	c.AdoptKey = Record[service.AdoptKeyInput](h, service.AdoptedKey{ID: KeyTwo, Prefix: "cag_00aTz81b"})
	c.ListAudit = reads[service.ListAuditInput](func() service.AuditLog { return service.AuditLog{Lines: h.log} })
}
