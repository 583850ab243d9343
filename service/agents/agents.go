package agents

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/netlimit"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/workflows"
)

// ClaimAgentStartInput is the name of an agent and its wallet.
type ClaimAgentStartInput struct {
	Name    string `json:"name" minLength:"1" maxLength:"80" doc:"what the agent is called; 1 to 80 characters" example:"arbitrage-1"`
	Address string `json:"address" pattern:"^0x[0-9a-fA-F]{40}$" doc:"the agent's wallet, 0x and 40 hexadecimal digits" example:"0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"`
}

// ClaimAgentInput proves that the agent owns its wallet.
type ClaimAgentInput struct {
	Address           string `json:"address" pattern:"^0x[0-9a-fA-F]{40}$" doc:"the agent's wallet, as it was given at the start" example:"0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"`
	Signature         string `json:"signature" minLength:"1" maxLength:"20000" doc:"what the wallet gave for message_to_sign, 0x and hexadecimal digits" example:"0xf16ea9a3478698f695fd1401bfe27e9e4a7e8e3da94aa72b021125e31fa899cc573c48ea3fe1d4ab61a9db10c19032026e3ed2dbccba5a178235ac27f945043111b"`
	MonthlyRequestCap *int64 `json:"monthly_request_cap,omitempty" minimum:"0" maximum:"1000000000000" doc:"weighted units that the agent's key may use in a period; 50,000 when absent, 0 for no cap of its own"`
}

// ClaimedAgent is an agent with its key. This is the only response that contains the key in
// plaintext.
type ClaimedAgent struct {
	Agent             string      `json:"agent" format:"uuid"`
	Address           string      `json:"address"`
	MonthlyRequestCap *plan.Units `json:"monthly_request_cap" nullable:"true" doc:"null for no cap of its own"`
	PlaintextToken    string      `json:"plaintext_token" doc:"the agent's key; shown here and never again"`
	KeyID             string      `json:"key_id" format:"uuid"`
	KeyPrefix         string      `json:"key_prefix"`
	Note              string      `json:"note"`
}

// AgentList lists the agents of an account, oldest first.
type AgentList struct {
	Count  int         `json:"count"`
	Agents []AgentView `json:"agents"`
}

// AgentView is an agent of the account: one that proved a wallet, with its active key, or a key
// that was adopted with a claim code.
type AgentView struct {
	ID                string            `json:"id,omitempty" format:"uuid" doc:"absent for an adopted key"`
	Name              string            `json:"name" doc:"may be empty for an adopted key"`
	Address           string            `json:"address,omitempty" doc:"with its checksum (EIP-55); absent for an adopted key"`
	ClaimedVia        string            `json:"claimed_via" enum:"wallet,claim_code"`
	ClaimedAt         time.Time         `json:"claimed_at" doc:"when it was claimed, or its key adopted"`
	KeyID             string            `json:"key_id,omitempty" format:"uuid" doc:"absent when its key was revoked"`
	KeyPrefix         string            `json:"key_prefix,omitempty"`
	MonthlyRequestCap *plan.Units       `json:"monthly_request_cap" nullable:"true" doc:"null for no cap of its own"`
	ServicesOff       []account.Service `json:"services_off"`
}

func (h *handlers) claimAgentStart() *operation.Operation[ClaimAgentStartInput, Challenged] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "claim_agent_start", Title: "Begin to claim an agent", Access: operation.Managers,
		Description: "Gives the message that an agent's wallet signs to become an agent of the account with a key of " +
			"its own. It costs nothing. The message lives ten minutes; a repeat gives a new one and ends the one " +
			"before.",
		Fails: []fault.Reason{fault.BindingRefused, fault.RateWindow, fault.DurableUnavailable},
	}, h.runClaimAgentStart)
}

func (h *handlers) runClaimAgentStart(ctx context.Context, c *operation.Call,
	in ClaimAgentStartInput,
) (Challenged, error) {
	name, refusal := operation.Label("name", in.Name)
	if refusal != nil {
		return Challenged{}, refusal
	}
	address, err := ParseAddress(in.Address)
	if err != nil {
		return Challenged{}, err
	}
	if refusal := h.LimitStranger(ctx, c, netlimit.Challenges); refusal != nil {
		return Challenged{}, refusal
	}
	made, err := h.Challenges.New(address, "/agents", "Become an agent of the account "+c.Account.ID.String()+
		" and be given an API key of it.")
	if err != nil {
		return Challenged{}, err
	}
	open, err := h.Flows.ClaimChallenge(ctx, c.Account.ID, workflows.ClaimChallenge{Challenge: made, Name: name})
	if err != nil {
		return Challenged{}, err
	}
	return h.Challenges.Response(&open, "claim_agent_complete"), nil
}

func (h *handlers) claimAgentComplete() *operation.Operation[ClaimAgentInput, ClaimedAgent] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "claim_agent_complete", Title: "Claim an agent", Access: operation.Managers,
		Description: "Makes the wallet that signed an agent of the account and shows its key once. It costs nothing. " +
			"While the message lives, a repeat gives a fresh key and ends the one before; a wrong signature changes " +
			"nothing.",
		Fails: []fault.Reason{
			fault.BindingRefused, fault.RateWindow, fault.NoUpstream, fault.NotYetInForce, fault.DurableUnavailable,
		},
	}, h.runClaimAgentComplete)
}

func (h *handlers) runClaimAgentComplete(ctx context.Context, c *operation.Call,
	in ClaimAgentInput,
) (ClaimedAgent, error) {
	address, err := ParseAddress(in.Address)
	if err != nil {
		return ClaimedAgent{}, err
	}
	if err := CheckSignature(in.Signature); err != nil {
		return ClaimedAgent{}, err
	}
	open, err := h.Flows.OpenClaimChallenge(ctx, c.Account.ID, address)
	if errors.Is(err, workflows.ErrNoChallenge) {
		return ClaimedAgent{}, noClaim()
	}
	if err != nil {
		return ClaimedAgent{}, err
	}
	if err := h.Challenges.Verify(ctx, address, open.Message, in.Signature); err != nil {
		return ClaimedAgent{}, err
	}
	key, err := account.MintKey(h.Random)
	if err != nil {
		return ClaimedAgent{}, fmt.Errorf("mint a key: %w", err)
	}
	proof := workflows.ClaimProof{
		Proof: workflows.Proof{Address: address, Nonce: open.Nonce}, Key: account.NewKeyID(),
		Digest: key.Digest(h.Hasher), Prefix: key.Prefix(), MonthlyCap: account.Number(in.MonthlyRequestCap),
		By: DoorAuthor(c),
	}
	claimed, err := h.Flows.ClaimComplete(ctx, c.Account.ID, proof)
	switch {
	case errors.Is(err, workflows.ErrNoChallenge):
		return ClaimedAgent{}, noClaim()
	case err != nil:
		return ClaimedAgent{}, unfinished(err)
	}
	return ClaimedAgent{
		Agent: claimed.Agent.String(), Address: address.Checksummed(),
		MonthlyRequestCap: operation.NullUnits(claimed.MonthlyCap()),
		PlaintextToken:    key.Reveal(), KeyID: claimed.Key.String(), KeyPrefix: key.Prefix(),
		Note: "Store the key now: it is kept nowhere and cannot be shown again. It sees its own usage only and " +
			"manages nothing.",
	}, nil
}

// unfinished rewrites a refusal after which the agent may have a key that its caller does not know:
// it states how to get one.
func unfinished(err error) error {
	refusal := fault.From(err)
	if refusal.Reason != fault.NotYetInForce && refusal.Reason != fault.DurableUnavailable {
		return err
	}
	told := *refusal
	told.Message = "The claim may be saved, but could not be finished in time. Complete it again in some seconds " +
		"with the same signature: that gives a fresh key, and none before it works."
	return &told
}

func noClaim() *fault.Error {
	return fault.New(fault.BindingRefused,
		"No claim of this wallet is under way, or its message is older than ten minutes. Begin with claim_agent_start.")
}

func (h *handlers) listAgents() *operation.Operation[operation.Nothing, AgentList] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "list_agents", Title: "List agents", Access: operation.Managers, Reads: true,
		Description: "Lists the fleet of the account: agents that proved a wallet, each with its key, and keys that " +
			"were adopted by their claim codes. It costs nothing.",
		Fails: []fault.Reason{fault.DurableUnavailable},
	}, h.runListAgents)
}

func (h *handlers) runListAgents(ctx context.Context, c *operation.Call, _ operation.Nothing) (AgentList, error) {
	return List(ctx, h.Store, c.Account.ID)
}

// List returns the agents of an account.
func List(ctx context.Context, s *store.Store, of account.ID) (AgentList, error) {
	agents, err := s.ListAgents(ctx, of)
	if err != nil {
		return AgentList{}, operation.ToFault(err, "agent")
	}
	adopted, err := s.ListAdoptedKeys(ctx, of)
	if err != nil {
		return AgentList{}, operation.ToFault(err, "key")
	}
	list := AgentList{Count: len(agents) + len(adopted), Agents: make([]AgentView, 0, len(agents)+len(adopted))}
	for i := range agents {
		list.Agents = append(list.Agents, agentView(&agents[i]))
	}
	for i := range adopted {
		list.Agents = append(list.Agents, adoptedView(&adopted[i]))
	}
	return list, nil
}

func adoptedView(a *accountdb.AdoptedKey) AgentView {
	return AgentView{
		Name: a.Key.Name, ClaimedVia: accountdb.ClaimedViaCode, ClaimedAt: a.AdoptedAt, KeyID: a.Key.ID.String(),
		KeyPrefix: a.Key.Prefix, ServicesOff: append([]account.Service{}, a.Key.Services.Off...),
		MonthlyRequestCap: operation.NullUnits(a.Key.MonthlyCap),
	}
}

func agentView(a *accountdb.Agent) AgentView {
	v := AgentView{
		ID: a.ID.String(), Name: a.Name, Address: a.Address.Checksummed(), ClaimedVia: a.ClaimedVia,
		ClaimedAt: a.ClaimedAt, ServicesOff: append([]account.Service{}, a.Key.Services.Off...),
		MonthlyRequestCap: operation.NullUnits(a.Key.MonthlyCap),
	}
	if !a.Key.ID.IsZero() {
		v.KeyID, v.KeyPrefix = a.Key.ID.String(), a.Key.Prefix
	}
	return v
}
