package apitest

import (
	"crypto/rand"
	"encoding/json"
	"net/http"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/accountdb"
)

// WalletKey creates a key that is bound to a wallet, with its own account.
func (g *Gateway) WalletKey() string {
	g.T.Helper()
	key, err := account.MintKey(rand.Reader)
	g.Must(err)
	digest := key.Digest(g.Hasher)
	_, _, err = g.Store.CreateDoorKey(g.T.Context(), accountdb.NewAccount{
		ID: account.NewID(), Kind: accountdb.KindWallet, Plan: plan.WalletBound,
	},
		accountdb.NewKey{
			ID: account.NewKeyID(), Digest: digest[:], Prefix: key.Prefix(), Door: account.DoorWallet,
			Daily: account.Unlimited,
		})
	g.Must(err)
	return g.Remember(key)
}

// Welcome holds the fields of a new key that a client reads.
type Welcome struct {
	Key       string                    `json:"key"`
	KeyPrefix string                    `json:"key_prefix"`
	Door      string                    `json:"door"`
	Fences    map[string]any            `json:"fences"`
	Doorways  map[string]map[string]any `json:"doorways"`
	Terms     map[string]string         `json:"terms"`
	Skill     string                    `json:"skill"`
}

// NewKey creates a key; headers as in Ask.
func (g *Gateway) NewKey(headers ...string) Answer {
	g.T.Helper()
	return g.Ask(http.MethodPost, "/keys", "", "", headers...)
}

// Welcome reads the answer to the request for a new key.
func (a Answer) Welcome() Welcome {
	a.T.Helper()
	var w Welcome
	if err := json.Unmarshal([]byte(a.Body), &w); err != nil || a.Status != http.StatusCreated {
		a.T.Fatalf("got HTTP %d %s", a.Status, a.Body)
	}
	return w
}

// DoorKey creates an anonymous key, bypassing the limit of its address.
func (g *Gateway) DoorKey() string {
	g.T.Helper()
	key, err := g.Limits.NewDoorKey(g.T.Context(), rand.Reader)
	g.Must(err)
	return g.Remember(key)
}

// AccountKey creates a key of an account on a plan, without a daily allowance.
func (g *Gateway) AccountKey(planKey string) string {
	g.T.Helper()
	a := accountdb.NewAccount{ID: account.NewID(), Kind: accountdb.KindOwner, Plan: planKey}
	_, err := g.Store.CreateAccount(g.T.Context(), a)
	g.Must(err)
	key, err := account.MintKey(rand.Reader)
	g.Must(err)
	digest := key.Digest(g.Hasher)
	_, err = g.Store.CreateKey(g.T.Context(), accountdb.NewKey{
		ID: account.NewKeyID(), Account: a.ID, Digest: digest[:], Prefix: key.Prefix(), Door: account.DoorAccount,
		Daily: account.Unlimited,
	})
	g.Must(err)
	return g.Remember(key)
}

// Unlimited creates a key without an allowance and with a wide rate window.
func (g *Gateway) Unlimited() string { g.T.Helper(); return g.AccountKey(plan.Enterprise) }

// Remember registers a key with KeepSecret, and returns its text.
func (g *Gateway) Remember(key account.Key) string {
	g.KeepSecret(key.Reveal())
	return key.Reveal()
}

// KeepSecret registers a text that must appear in no log, metric or answer.
func (g *Gateway) KeepSecret(text string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.secrets = append(g.secrets, text)
}

// Identity returns what a key stands for.
func (g *Gateway) Identity(key string) account.Identity {
	g.T.Helper()
	parsed, ok := account.ParseKey(key)
	if !ok {
		g.T.Fatal("not a key")
	}
	digest := parsed.Digest(g.Hasher)
	id, err := g.Store.FindIdentity(g.T.Context(), digest[:])
	g.Must(err)
	return id
}

// Suspend suspends the key's account, effective at once.
func (g *Gateway) Suspend(key string) {
	g.T.Helper()
	_, err := g.Limits.SetStatus(g.T.Context(), g.Identity(key).Account, account.Suspended,
		accountdb.Author{Actor: "test", Origin: "test"})
	g.Must(err)
}

// Revoke revokes the key, effective at once.
func (g *Gateway) Revoke(key string) {
	g.T.Helper()
	_, err := g.Limits.RevokeKey(g.T.Context(), g.Identity(key).Key, accountdb.Author{Actor: "test", Origin: "test"})
	g.Must(err)
}
