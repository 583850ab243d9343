package workflows_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/messaging/outbox"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/workflows"
)

// A carrier is a worker in a process of its own: this test binary, started again with variables
// that make it run flows until it is killed.
const (
	carrierTemporal  = "CARRIER_TEMPORAL"
	carrierNamespace = "CARRIER_NAMESPACE"
	carrierDatabase  = "CARRIER_DATABASE"
	carrierRedis     = "CARRIER_REDIS"
	carrierChain     = "CARRIER_CHAIN" // URL of an upstream of Base; empty for none
	carrierDies      = "CARRIER_DIES"  // where the carrier kills itself, once; empty for never
)

var pepper = bytes.Repeat([]byte("pepper"), 8)

func TestMain(m *testing.M) {
	if os.Getenv(carrierTemporal) != "" {
		if err := carry(context.Background()); err != nil {
			panic(err)
		}
		return
	}
	os.Exit(m.Run())
}

func carry(ctx context.Context) error {
	s, err := store.Open(ctx, os.Getenv(carrierDatabase))
	if err != nil {
		return err
	}
	m, err := meter.Open(ctx, os.Getenv(carrierRedis))
	if err != nil {
		return err
	}
	c, err := client.DialContext(ctx, client.Options{
		HostPort: os.Getenv(carrierTemporal), Namespace: os.Getenv(carrierNamespace),
		Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	if err != nil {
		return err
	}
	site := notify.Site{Name: "Chain Access Gateway", URL: publicURL, Contact: "help@gateway.example"}
	mails, err := outbox.New(s, site, pepper, time.Now)
	if err != nil {
		return err
	}
	w := worker.New(c, workflows.QueueGateway, worker.Options{StickyScheduleToStartTimeout: time.Second})
	workflows.RegisterGateway(w)
	w.RegisterActivity(&activities.Doors{
		Limits: limits.New(s, m, nil, time.Now), Logger: slog.New(slog.DiscardHandler),
		Mails: &activities.AdoptionLetters{Owners: s, Sealer: mails, URL: publicURL, Now: time.Now},
	})
	w.RegisterActivity(&activities.Tickets{
		Record: &dyingDesk{s, os.Getenv(carrierDies)}, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
	})
	if address := os.Getenv(carrierChain); address != "" {
		if err := carrySettlements(w, s, limits.New(s, m, nil, time.Now), address); err != nil {
			return err
		}
	}
	if err := w.Start(); err != nil {
		return err
	}
	fmt.Println("carrying") //nolint:forbidigo // the test waits for this word
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

const publicURL = "https://gateway.example"

// carried holds what flows need, and the client side of an API process.
type carried struct {
	ctx      context.Context //nolint:containedctx // a test's own
	temporal *testkit.TemporalServer
	redis    *testkit.RedisServer
	database string
	store    *store.Store
	limits   *limits.Limits
	client   client.Client
	flows    *workflows.Client
	hasher   *account.Hasher
	db       *pgx.Conn
	secrets  []string // minted secrets, which no history may contain
}

func setupCarried(t *testing.T) *carried {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*testTimeout)
	t.Cleanup(cancel)
	c := &carried{ctx: ctx, temporal: testkit.Temporal(t), redis: testkit.Redis(t), database: testkit.Postgres(t)}
	var err error
	fatal := func() {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	c.store, err = store.Open(ctx, c.database)
	fatal()
	t.Cleanup(c.store.Close)
	m, err := meter.Open(ctx, c.redis.URL)
	fatal()
	t.Cleanup(func() { _ = m.Close() })
	c.hasher, err = account.NewHasher(pepper)
	fatal()
	c.db, err = pgx.Connect(ctx, c.database)
	fatal()
	t.Cleanup(func() { _ = c.db.Close(context.Background()) })
	c.limits = limits.New(c.store, m, c.hasher, time.Now)
	c.client = c.temporal.Dial(t)
	c.flows = workflows.NewClient(c.client)
	c.secrets = []string{string(pepper)}
	return c
}

// carrier starts a worker process and returns a function that kills it with SIGKILL.
func (c *carried) carrier(t *testing.T, env ...string) (kill func()) {
	t.Helper()
	_, kill = c.process(t, env...)
	return kill
}

// process is like carrier and also returns a channel that is closed when the process has ended.
func (c *carried) process(t *testing.T, env ...string) (ended <-chan struct{}, kill func()) {
	t.Helper()
	cmd := exec.CommandContext(c.ctx, os.Args[0]) //nolint:gosec // this test binary
	cmd.Env = append(os.Environ(), carrierTemporal+"="+c.temporal.Address, carrierNamespace+"="+c.temporal.Namespace,
		carrierDatabase+"="+c.database, carrierRedis+"="+c.redis.URL)
	cmd.Env = append(cmd.Env, env...)
	in, err := cmd.StdinPipe() // closes with this process, which ends the carrier
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	kill = func() {
		_ = cmd.Process.Kill() // it may have ended already
		<-gone
		_ = in.Close()
	}
	t.Cleanup(kill)
	word := make([]byte, len("carrying"))
	_, err = io.ReadFull(out, word)
	go func() {
		_ = cmd.Wait() // it was killed, or killed itself
		close(gone)
	}()
	if err != nil || string(word) != "carrying" {
		t.Fatalf("the carrier said %q, %v", word, err)
	}
	return gone, kill
}

// key creates an anonymous key.
func (c *carried) key(t *testing.T) (account.KeyID, account.ID) {
	t.Helper()
	key, err := c.limits.NewDoorKey(c.ctx, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	claim := key.ClaimCode(c.hasher)
	digest := claim.Digest(c.hasher)
	c.secrets = append(c.secrets, key.Reveal(), claim.Reveal(), digest.String())
	k, _, err := c.store.FindClaim(c.ctx, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	return k.ID, k.Account
}

// owner creates an account with two owners and returns the account and its first owner.
func (c *carried) owner(t *testing.T) (account.ID, account.UserID) {
	t.Helper()
	a, err := c.store.CreateAccount(c.ctx, accountdb.NewAccount{
		ID: account.NewID(), Kind: accountdb.KindOwner, Plan: plan.Free,
	})
	if err != nil {
		t.Fatal(err)
	}
	users := []account.UserID{account.NewUserID(), account.NewUserID()}
	for _, user := range users {
		address := "canary-" + strings.ToLower(rand.Text()) + "@owners.example"
		c.secrets = append(c.secrets, address)
		_, err := c.db.Exec(c.ctx, `INSERT INTO users (id, email, email_key, created_at) VALUES ($1, $2, $2, now())`,
			user.UUID, address)
		if err == nil {
			_, err = c.db.Exec(c.ctx,
				`INSERT INTO members (account_id, user_id, role, joined_at, last_used_at) VALUES ($1, $2, 'owner', `+
					`now(), now())`, a.ID.UUID, user.UUID)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return a.ID, users[0]
}

func newWallet() wallet.Address {
	id := uuid.New()
	return wallet.Address{0: 0xaa, 1: id[0], 2: id[1], 3: id[2], 4: id[3], 5: id[4]}
}

func challengeOf(address wallet.Address) workflows.Challenge {
	return workflows.Challenge{
		Address: address, Nonce: wallet.NewNonce(), Message: "a message for " + address.String(),
		Expires: time.Now().Add(workflows.ChallengeTime),
	}
}

func proofOf(c workflows.Challenge) workflows.Proof { //nolint:gocritic // a copy does no harm
	return workflows.Proof{Address: c.Address, Nonce: c.Nonce}
}

var byKey = activities.DoorAuthor{Actor: "key cag_12345678", Origin: "api"}
