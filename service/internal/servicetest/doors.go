package servicetest

import (
	"crypto/ecdsa"
	"encoding/hex"
	"log/slog"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/crypto"
	"go.temporal.io/sdk/worker"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/service"
	"github.com/chainaccess/gateway/service/keys"
	"github.com/chainaccess/gateway/workflows"
)

// OpenDoors returns an environment whose workflows run in a worker of its own.
func OpenDoors(t *testing.T) *Env {
	t.Helper()
	temporal := testkit.Temporal(t).Dial(t)
	o := OpenEnv(t, func(c *service.Options) { c.Flows = workflows.NewClient(temporal) })
	w := worker.New(temporal, workflows.QueueGateway, worker.Options{})
	workflows.RegisterGateway(w)
	w.RegisterActivity(&activities.Doors{
		Limits: o.Limits, Logger: slog.New(slog.DiscardHandler),
		Mails: &activities.AdoptionLetters{Owners: o.Store, Sealer: o, URL: "https://gateway.example", Now: time.Now},
	})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return o
}

// Signer is a wallet with its private key.
type Signer struct {
	Key     *ecdsa.PrivateKey
	Address string
}

// NewSigner returns a wallet with a new key.
func NewSigner(t *testing.T) Signer {
	t.Helper()
	key, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	return Signer{key, crypto.PubkeyToAddress(key.PublicKey).Hex()}
}

// Sign implements personal_sign.
func (s Signer) Sign(t *testing.T, message string) string {
	t.Helper()
	hash := wallet.TextHash(message)
	signature, err := crypto.Sign(hash[:], s.Key)
	if err != nil {
		t.Fatal(err)
	}
	signature[64] += 27
	return "0x" + hex.EncodeToString(signature)
}

// DoorKey makes a key without an account.
func (o *Env) DoorKey(t *testing.T) keys.Welcome {
	t.Helper()
	return Must[keys.Welcome](t)(o.GetKey.Invoke(o.Ctx, Browser(""), keys.GetKeyInput{}))
}
