package view

import (
	"slices"
	"strings"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/keys"
)

// ServiceTitle returns the title of a service, or its name when this version does not know it.
func ServiceTitle(name string) string {
	if words, known := serviceWords[account.Service(name)]; known {
		return words[0]
	}
	return name
}

// CapText formats a cap for a form; empty for none.
func CapText(c *plan.Units) string {
	if c == nil {
		return ""
	}
	return c.Grouped()
}

// CapWords formats a cap for a list.
func CapWords(c *plan.Units) string {
	if c == nil {
		return "none"
	}
	return c.Grouped()
}

// serviceWords describe the services.
var serviceWords = map[account.Service][2]string{
	account.RPC:       {"RPC", "JSON-RPC on every chain"},
	account.Data:      {"Data", "balances and history"},
	account.Gas:       {"Gas", "fee suggestions"},
	account.TxStatus:  {"Transaction status", "status of a transaction"},
	account.ENS:       {"ENS", "names and addresses"},
	account.Prices:    {"Prices", "token prices"},
	account.Contracts: {"Contracts", "ABIs and decoding"},
	account.Utils:     {"Utilities", "checksums, units, signatures"},
}

// FirstCall returns a command that works once a key is put in.
func FirstCall(publicURL string) Copyable {
	return Copyable{
		ID: "first-call-command", What: "the command for a first call",
		Text: "curl " + publicURL + "/rpc/eth_mainnet \\\n" +
			"  -H 'Authorization: Bearer " + KeyPlaceholder + "' \\\n" +
			"  -H 'Content-Type: application/json' \\\n" +
			`  -d '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}'`,
	}
}

// KeyPlaceholder replaces a key in commands.
const KeyPlaceholder = "<API_KEY>"

// DoorWords describe how a key was obtained.
var DoorWords = map[account.Door][2]string{
	account.DoorPublic:  {"anonymous", "made by a program without sign-up"},
	account.DoorWallet:  {"wallet-bound", "made by a program and bound to a wallet"},
	account.DoorAdopted: {"adopted", "made by a program and adopted by this account"},
	account.DoorAccount: {"account", "made by this account"},
}

// KeyRows formats keys: active ones and revoked ones, each newest first.
func (r Reader) KeyRows(keys []keys.KeyView) (active, revoked []KeyRow) {
	for i := range keys {
		row := r.KeyRow(&keys[i])
		if keys[i].Status == account.Active {
			active = append(active, row)
		} else {
			revoked = append(revoked, row)
		}
	}
	slices.Reverse(active)
	slices.Reverse(revoked)
	return active, revoked
}

// KeyRow formats a key for a list.
func (r Reader) KeyRow(k *keys.KeyView) KeyRow {
	row := KeyRow{
		ID: k.ID, Name: KeyTitle(k.Name, k.Prefix), Prefix: k.Prefix, Door: DoorWords[k.Door][0], Agent: k.Agent,
		Cap: CapWords(k.MonthlyRequestCap), Status: Status{Good, "active"}, Created: r.Moment(k.CreatedAt),
	}
	if k.Status != account.Active {
		row.Status = Status{Bad, string(k.Status)}
	}
	if k.LastUsedAt != nil {
		row.Used = r.Hour(*k.LastUsedAt)
	}
	return row
}

// KeyTitle returns the name of a key, or its prefix when it has none.
func KeyTitle(name, prefix string) string {
	if name == "" {
		return prefix
	}
	return name
}

// ServicesOff lists the services that are switched off.
func ServicesOff(off []account.Service) string {
	names := make([]string, len(off))
	for i, s := range off {
		names[i] = string(s)
	}
	return strings.Join(names, ", ")
}

// ServiceLines formats service limits. around are the limits of the account; nil for the account's
// own form.
func ServiceLines(limits, around []keys.ServiceFence) []ServiceLine {
	var lines []ServiceLine
	for i := range limits {
		f := &limits[i]
		line := ServiceLine{
			Key: string(f.Service), Label: serviceWords[f.Service][0], About: serviceWords[f.Service][1], On: f.Enabled,
			Cap: CapText(f.Cap), Used: f.Used.Grouped(),
		}
		for j := range around {
			if around[j].Service == f.Service {
				line.LockedOff = !around[j].Enabled
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// KeyRow is a key in a list.
type KeyRow struct {
	ID, Name, Prefix string
	Door             string
	Agent            string
	Status           Status
	Created, Used    Moment
	Cap              string
}
