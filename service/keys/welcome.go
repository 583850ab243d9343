package keys

import (
	"strconv"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/x402"
)

// TermsVersion is the version of the terms of use: their date.
const TermsVersion = "2026-11-22"

// Welcome is the response with a door key (docs/interface.md, 2.2). It contains the key in
// plaintext only once, when the key is new.
type Welcome struct {
	Key          string             `json:"key,omitempty" doc:"the key in plaintext; shown here and never again"`
	KeyPrefix    string             `json:"key_prefix" doc:"first 12 characters, by which the key is recognised" example:"cag_3yGZx1aB"`
	Door         account.Door       `json:"door" enum:"public,wallet_bound,owner_adopted" doc:"how the key was obtained"`
	Bound        bool               `json:"bound,omitempty" doc:"whether the key is bound to a wallet"`
	BoundAddress string             `json:"bound_address,omitempty" doc:"the wallet, with its checksum (EIP-55)"`
	Fences       DoorFences         `json:"fences" doc:"the limits of this key"`
	Doorways     map[string]Doorway `json:"doorways" doc:"the way past each limit"`
	Terms        Terms              `json:"terms" doc:"what using the key means"`
	Skill        string             `json:"skill" format:"uri" doc:"how a program uses the service, written for programs"`
}

// DoorFences are the limits of a door key.
type DoorFences struct {
	UnitsPerDay       plan.Units  `json:"units_per_day,omitempty" doc:"weighted units of a UTC day; absent when only the month is limited"`
	UnitsPerMonth     plan.Units  `json:"units_per_month,omitempty" doc:"weighted units of a calendar month; absent when only the day is limited"`
	RequestsPerSecond int64       `json:"requests_per_second" doc:"sliding window, hits of the cache included"`
	KeysPerAddressDay int         `json:"keys_per_address_and_day" doc:"new keys that one network address may make in a UTC day"`
	Supply            plan.Supply `json:"supply" enum:"public,wholesale,premium" doc:"class of upstreams that serves the key"`
}

// Doorway is a way past a limit.
type Doorway struct {
	Past      string `json:"past" doc:"the fences that it leads past"`
	Do        string `json:"do" doc:"what to do"`
	At        string `json:"at,omitempty" doc:"where, or from when"`
	ClaimCode string `json:"claim_code,omitempty" doc:"for adopt: the code that the owner types; works once"`
	Open      bool   `json:"open" doc:"whether it can be gone through today"`
}

// Terms is the version and the address of the terms of use.
type Terms struct {
	Version string `json:"version" format:"date"`
	URL     string `json:"url" format:"uri"`
}

// mcpPath is the path of the MCP endpoint.
const mcpPath = "/mcp"

// Doorways knows the ways past the limits of keys.
type Doorways struct {
	publicURL string
	perCall   bool // calls can be paid without an account
	packs     bool // packs can be bought by card
	now       func() time.Time
}

// NewDoorways returns the doorways of a gateway. perCall reports whether calls can be paid without
// an account, packs whether packs can be bought.
func NewDoorways(publicURL string, perCall, packs bool, now func() time.Time) *Doorways {
	return &Doorways{publicURL: publicURL, perCall: perCall, packs: packs, now: now}
}

// Welcome returns the welcome of a door key without the key itself. code is zero if the key was
// adopted.
func (d *Doorways) Welcome(prefix string, door account.Door, code account.ClaimCode) Welcome {
	w := Welcome{
		KeyPrefix: prefix, Door: door, Terms: Terms{Version: TermsVersion, URL: d.publicURL + "/terms"},
		Skill: d.publicURL + "/skill.md", Doorways: d.For(door, code),
	}
	p := plan.Must(plan.Door1)
	if door == account.DoorWallet {
		p = plan.Must(plan.WalletBound)
	}
	w.Fences = DoorFences{RequestsPerSecond: p.Rate.Limit, KeysPerAddressDay: KeysPerDay, Supply: p.Supply}
	if p.Period == plan.Daily {
		w.Fences.UnitsPerDay = p.DailyQuota()
	} else {
		w.Fences.UnitsPerMonth = p.MonthlyQuota()
	}
	return w
}

// For returns the ways past a door key's limits.
func (d *Doorways) For(door account.Door, code account.ClaimCode) map[string]Doorway {
	past, until := "units_per_day", "Wait until 00:00 UTC, when the day counts anew."
	if door == account.DoorWallet {
		past, until = "units_per_month", "Wait until the month ends, when the allowance counts anew."
	}
	ways := map[string]Doorway{
		"wait": {Past: past, Do: until, Open: true},
		"adopt": {
			Past: past + ", requests_per_second, supply", Open: !code.IsZero(), ClaimCode: code.Reveal(),
			At: d.publicURL + "/agents",
			Do: "Give your owner the claim code. They sign in and type it there; this key then has the account's " +
				"plan, packs and fences.",
		},
		"pay_per_call": {
			Past: past + ", supply", Open: d.perCall, Do: "Pay for units in USDC, with no account.",
			At: d.publicURL + x402.MenuPath,
		},
		"buy_pack": {
			Past: past + ", supply", Open: d.packs,
			Do: "Buy a prepaid pack, once an owner has adopted this key.", At: d.publicURL + "/billing",
		},
		"ticket": d.Ticket("anything else"),
	}
	if door == account.DoorPublic {
		ways["bind"] = Doorway{
			Past: "units_per_day, keys_per_address_and_day", Open: true, At: d.publicURL + "/keys/bind/start",
			Do: "Bind this key to a wallet with a signature, no transaction and no gas: " +
				plan.Must(plan.WalletBound).MonthlyQuota().String() + " units a month, and the key stays yours.",
		}
	}
	return ways
}

// Ticket returns the doorway that is always open: a ticket to support.
func (d *Doorways) Ticket(past string) Doorway {
	return Doorway{
		Past: past, Open: true, Do: "File a ticket with the request id of the call: the tool manage_tickets takes it.",
		At: d.publicURL + mcpPath,
	}
}

// anotherKey returns the doorway of making another key, for an address with some left today.
func (d *Doorways) anotherKey(left int64) Doorway {
	return Doorway{
		Past: "units_per_day", Do: "Make another key: this address has " + strconv.FormatInt(left, 10) + " left today.",
		At: d.publicURL + "/keys", Open: true,
	}
}

// midnight returns the time after in, to the minute, when daily counts reset.
func (d *Doorways) midnight(in time.Duration) string {
	return d.now().UTC().Add(in).Truncate(time.Minute).Format(time.RFC3339)
}
