package api_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/crypto"
	"github.com/mr-tron/base58"

	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/relay/chain"
)

// submission is a submission to a chain, with the id of its transaction.
type submission struct {
	chain         chain.ID
	method        string
	params        string
	field, wanted string
}

func submissions() []submission {
	signed := []byte{0x02, 0xf8, 0x6b, 0x01, 0x07, 0x80}
	wire := append([]byte{1}, make([]byte, 64)...)
	for i := range 64 {
		wire[1+i] = byte(i + 1)
	}
	wire = append(wire, 1, 0, 1, 3)
	return []submission{
		{
			chain.EthMainnet, "eth_sendRawTransaction", fmt.Sprintf(`["0x%s"]`, hex.EncodeToString(signed)),
			"transaction_hash", crypto.Keccak256Hash(signed).Hex(),
		},
		{
			chain.SolanaMainnet, "sendTransaction",
			fmt.Sprintf(`[%q,{"encoding":"base64"}]`, base64.StdEncoding.EncodeToString(wire)), "signature",
			base58.Encode(wire[1:65]),
		},
	}
}

// unknownOutcome lists the ways in which the outcome of a submission stays unknown.
func unknownOutcome(g *gateway) map[string]testkit.Reply {
	second := g.ups[1].URL
	return map[string]testkit.Reply{
		"time-out":              testkit.Hang(nil),
		"reset after the write": testkit.Reset(),
		"307":                   testkit.Redirect(second),
		"308":                   testkit.WithHeader("Location", second, testkit.Status(http.StatusPermanentRedirect)),
		"302":                   testkit.WithHeader("Location", second, testkit.Status(http.StatusFound)),
		"500":                   testkit.ErrorWithStatus(http.StatusInternalServerError, -32603, "internal error"),
		"502 HTML":              testkit.HTML(http.StatusBadGateway),
		"200 HTML":              testkit.HTML(http.StatusOK),
		"truncated":             testkit.Truncated(),
		"half a document":       testkit.InvalidJSON(),
		"another id":            testkit.WrongID("0xhash"),
		"a result and an error": testkit.Raw(http.StatusOK, "application/json",
			`{"id":$id,"result":"0x1","error":{"code":1,"message":"x"}}`),
		"endless": testkit.Large(8 << 20),
	}
}

func TestSubmission_ExactlyOneRequestReachesTheUpstreams(t *testing.T) {
	t.Parallel()
	g := setup(t, func(o *options) { o.timeout = 2 * time.Second })
	key := g.unlimited()
	for _, s := range submissions() {
		for name, reply := range unknownOutcome(g) {
			for _, u := range g.ups {
				u.Forget()
			}
			applyHealthy(g.pool, s.chain, time.Now(), len(g.ups))
			g.all(reply)
			before := g.usage(key)
			a := g.rpc(key, s.chain, call(s.method, s.params))
			data := a.refused(http.StatusConflict, -32017)
			if n := g.sent(s.method); n != 1 {
				t.Errorf("%s, %s: %d requests reached the upstreams", s.method, name, n)
			}
			if data[s.field] != s.wanted || !strings.Contains(fmt.Sprint(data["rule"]), "before signing again") {
				t.Errorf("%s, %s: data is %v, want %s %s", s.method, name, data, s.field, s.wanted)
			}
			if a.header.Get("Retry-After") != "" {
				t.Errorf("%s, %s: Retry-After invites a stock client to send it again", s.method, name)
			}
			after := g.usage(key)
			if after["outcome_unknown"].requests != before["outcome_unknown"].requests+1 ||
				after["ok"].units+after["refund"].units != 0 {
				t.Errorf("%s, %s: usage went from %v to %v, want it refunded", s.method, name, before, after)
			}
		}
	}
}

func TestSubmission_RefusedConnectionSendsItOnceElsewhere(t *testing.T) {
	t.Parallel()
	g := setup(t)
	key := g.unlimited()
	g.ups[0].Close()
	g.ups[1].Default(testkit.Result("0xhash"))
	for _, s := range submissions() {
		if got := g.rpc(key, s.chain, call(s.method, s.params)).result(); got != `"0xhash"` {
			t.Errorf("%s: got %s", s.method, got)
		}
		if n := g.ups[1].Count(s.method); n != 1 {
			t.Errorf("%s: the other upstream got it %d times", s.method, n)
		}
	}
	g.ups[1].Close()
	for _, s := range submissions() {
		a := g.rpc(key, s.chain, call(s.method, s.params))
		a.refused(http.StatusBadGateway, -32022)
		if !strings.Contains(a.body, "was not sent") {
			t.Errorf("%s: the message is not true: %s", s.method, a.body)
		}
	}
}

func TestSubmission_ErrorsInBandPassWithHTTP200(t *testing.T) {
	t.Parallel()
	g := setup(t)
	key := g.unlimited()
	for _, s := range submissions() {
		for _, said := range []struct {
			code    int
			message string
		}{
			{-32000, "already known"},
			{-32000, "nonce too low"},
			{-32017, "outcome not known"},
			{-32002, "Blockhash not found"},
			{-32000, "in-flight transaction limit reached for delegated accounts"},
		} {
			applyHealthy(g.pool, s.chain, time.Now(), len(g.ups))
			g.all(testkit.Error(said.code, said.message))
			for _, u := range g.ups {
				u.Forget()
			}
			a := g.rpc(key, s.chain, call(s.method, s.params))
			want := fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"error":{"code":%d,"message":%q}}`, said.code, said.message)
			if a.status != http.StatusOK || a.body != want || g.sent(s.method) != 1 {
				t.Errorf("%s: HTTP %d %s after %d requests", s.method, a.status, a.body, g.sent(s.method))
			}
		}
	}
}

func TestSubmission_TwoIdenticalOnesOfABatchAreBothSent(t *testing.T) {
	t.Parallel()
	g := setup(t)
	key := g.unlimited()
	for _, s := range submissions() {
		one := call(s.method, s.params)
		a := g.rpc(key, s.chain, "["+one+","+one+"]")
		if a.status != http.StatusOK || g.sent(s.method) != 2 {
			t.Errorf("%s: HTTP %d, %d sent", s.method, a.status, g.sent(s.method))
		}
	}
}

func TestSubmission_GoesOnWhenTheClientDisconnects(t *testing.T) {
	t.Parallel()
	g := setup(t)
	key := g.unlimited()
	s := submissions()[0]
	g.all(testkit.Hang(testkit.Result("0xhash")))
	cancel := g.abandon(key, s.chain, call(s.method, s.params))
	testkit.Eventually(t, testTimeout, func() bool { return g.sent(s.method) == 1 }, "the submission arrives")
	cancel()
	for _, u := range g.ups {
		u.Release()
	}
	testkit.Eventually(t, testTimeout, func() bool { return g.recorder.Written() == 1 }, "the call is recorded")
	if n := g.sent(s.method); n != 1 {
		t.Errorf("%d requests reached the upstreams", n)
	}
	if u := g.usage(key); u["ok"] != (figures{1, 1000}) || len(u) != 1 {
		t.Errorf("usage is %v, want one charged call", u)
	}
}

func TestUpstreamRequest_CarriesNothingOfTheClients(t *testing.T) {
	t.Parallel()
	g := setup(t)
	key := g.unlimited()
	s := submissions()[0]
	for _, method := range []string{s.method, "eth_call"} {
		g.rpc(key, s.chain, call(method, s.params), "Idempotency-Key", "client-1", "X-Forwarded-For", "192.0.2.1",
			"Cookie", "client=1", "X-Request-Id", "client-id").result()
	}
	for _, r := range g.ups[0].Requests() {
		if string(r.ID) == "7" { // the id that call gives every request
			t.Errorf("the client's id left the gateway: %s", r.ID)
		}
		for _, name := range []string{"Idempotency-Key", "X-Forwarded-For", "Cookie", "X-Request-Id", "Expect"} {
			if r.Header.Get(name) != "" {
				t.Errorf("%s was forwarded", name)
			}
		}
		if strings.Contains(r.Header.Get("Authorization"), key) || r.Header.Get("X-Api-Key") != "canary-header-1234" {
			t.Errorf("the headers are %v", r.Header)
		}
	}
}
