package accounts

import (
	"context"
	"slices"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store/accountdb"
)

// UpdateAccountInput changes the settings that are present. Without any field it reads them.
type UpdateAccountInput struct {
	NotifyUsage80    *bool     `json:"notify_usage_80,omitempty" doc:"mail at 80 % of the allowance"`
	NotifyUsage100   *bool     `json:"notify_usage_100,omitempty" doc:"mail when the allowance is used up"`
	NotifyIncidents  *bool     `json:"notify_incidents,omitempty" doc:"mail when a chain has an incident"`
	TimeZone         *string   `json:"time_zone,omitempty" maxLength:"64" doc:"IANA time zone in which pages and mails tell times" example:"Europe/Vienna"`
	UseCase          *string   `json:"use_case,omitempty" enum:"trading_bots,indexing,wallet_dapp,analytics,other" doc:"what the account is used for"`
	TeamSize         *string   `json:"team_size,omitempty" enum:"solo,2_5,6_20,20_plus" doc:"how many people work with it"`
	Volume           *string   `json:"volume,omitempty" enum:"under_1m,1m_15m,15m_100m,100m_plus" doc:"units a month that are expected"`
	Region           *string   `json:"region,omitempty" enum:"europe,north_america,asia_pacific,south_america,other" doc:"where calls come from"`
	PreviousProvider *string   `json:"previous_provider,omitempty" enum:"alchemy,infura,quicknode,public_rpcs,self_hosted,first_setup" doc:"what was used before"`
	ReferralSource   *string   `json:"referral_source,omitempty" enum:"search,x_farcaster,friend,event,blog_newsletter,other" doc:"how the service was found"`
	Chains           *[]string `json:"chains,omitempty" maxItems:"6" enum:"eth_mainnet,base_mainnet,arbitrum_one,optimism_mainnet,polygon_pos,solana_mainnet" doc:"chains that are used"`
	WishChains       *[]string `json:"wish_chains,omitempty" maxItems:"9" enum:"avalanche,bnb,btc,ton,tron,sui,aptos,near,cosmos,other" doc:"chains that are missed"`
	WishChainOther   *string   `json:"wish_chain_other,omitempty" maxLength:"60" doc:"another chain that is missed; up to 60 characters" example:"Monad"`
}

// AccountSettings are the settings after a change.
type AccountSettings struct {
	NotifyUsage80   bool               `json:"notify_usage_80"`
	NotifyUsage100  bool               `json:"notify_usage_100"`
	NotifyIncidents bool               `json:"notify_incidents"`
	TimeZone        string             `json:"time_zone"`
	Insights        accountdb.Insights `json:"insights" doc:"what the account told of itself; only what was told"`
}

func (h *handlers) updateAccount() *operation.Operation[UpdateAccountInput, AccountSettings] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "update_account", Title: "Read or change account settings", Access: operation.Managers, ReadsToo: true,
		Description: "Changes notification preferences, the time zone and what the account tells of itself; only " +
			"fields that are given change, none reads. It costs nothing, and a repeat changes nothing more.",
		Fails: []fault.Reason{fault.DurableUnavailable},
	}, h.runUpdateAccount)
}

func (h *handlers) runUpdateAccount(ctx context.Context, c *operation.Call,
	in UpdateAccountInput,
) (AccountSettings, error) {
	if in == (UpdateAccountInput{}) {
		s, err := h.Store.LoadSettings(ctx, c.Account.ID)
		return settingsOf(s), operation.ToFault(err, "account")
	}
	if refusal := c.MayChange(); refusal != nil {
		return AccountSettings{}, refusal
	}
	if in.TimeZone != nil {
		if refusal := checkZone(*in.TimeZone); refusal != nil {
			return AccountSettings{}, refusal
		}
	}
	if in.WishChainOther != nil && *in.WishChainOther != "" {
		text, refusal := operation.Label("wish_chain_other", *in.WishChainOther)
		if refusal != nil {
			return AccountSettings{}, refusal
		}
		in.WishChainOther = &text
	}
	s, err := h.Store.ChangeSettings(ctx, c.Account.ID, c.Author("settings"), in.apply)
	return settingsOf(s), operation.ToFault(err, "account")
}

// checkZone refuses names that are not IANA time zones. "Local" is the server's zone.
func checkZone(name string) *fault.Error {
	if _, err := time.LoadLocation(name); err != nil || name == "" || name == "Local" {
		return fault.New(fault.FieldRefused,
			"time_zone takes a name of the IANA time zone database, such as UTC, Europe/Vienna or America/New_York.")
	}
	return nil
}

// apply copies the fields that are present into the settings.
func (in *UpdateAccountInput) apply(s *accountdb.Settings) {
	set(&s.NotifyUsage80, in.NotifyUsage80)
	set(&s.NotifyUsage100, in.NotifyUsage100)
	set(&s.NotifyIncidents, in.NotifyIncidents)
	set(&s.TimeZone, in.TimeZone)
	set(&s.Insights.UseCase, in.UseCase)
	set(&s.Insights.TeamSize, in.TeamSize)
	set(&s.Insights.Volume, in.Volume)
	set(&s.Insights.Region, in.Region)
	set(&s.Insights.PreviousProvider, in.PreviousProvider)
	set(&s.Insights.ReferralSource, in.ReferralSource)
	set(&s.Insights.Chains, distinct(in.Chains))
	set(&s.Insights.WishChains, distinct(in.WishChains))
	set(&s.Insights.WishChainOther, in.WishChainOther)
}

// distinct returns the list sorted and without duplicates. The schema cannot require uniqueness:
// the library compares only hashable values.
func distinct(list *[]string) *[]string {
	if list == nil {
		return nil
	}
	sorted := slices.Compact(slices.Sorted(slices.Values(*list)))
	return &sorted
}

func set[T any](field, given *T) {
	if given != nil {
		*field = *given
	}
}

func settingsOf(s accountdb.Settings) AccountSettings {
	return AccountSettings{
		NotifyUsage80: s.NotifyUsage80, NotifyUsage100: s.NotifyUsage100, NotifyIncidents: s.NotifyIncidents,
		TimeZone: s.TimeZone, Insights: s.Insights,
	}
}
