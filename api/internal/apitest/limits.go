package apitest

import (
	"encoding/json"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/store/accountdb"
)

// Author is the author of the changes that tests make.
var Author = accountdb.Author{Actor: "test", Origin: "test"}

// Configure changes the settings of the key or its account.
func (g *Gateway) Configure(key string, s account.Settings, ofAccount bool) {
	g.T.Helper()
	id := g.Identity(key)
	var err error
	if ofAccount {
		_, err = g.Limits.ConfigureAccount(g.T.Context(), id.Account, s, Author)
	} else {
		_, err = g.Limits.ConfigureKey(g.T.Context(), id.Key, s, Author)
	}
	g.Must(err)
}

// RPCCap returns the settings that cap the RPC service.
func RPCCap(units string) account.Settings {
	return account.Settings{Caps: &map[string]json.Number{"rpc": json.Number(units)}}
}

// Enabled returns the settings that switch on only these services.
func Enabled(services ...string) account.Settings { return account.Settings{Enabled: &services} }
