package rpc_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
)

// unknownOutcome lists the ways in which the outcome of a submission stays unknown.
func unknownOutcome(g *apitest.Gateway) map[string]testkit.Reply {
	second := g.Ups[1].URL
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
	g := apitest.Setup(t, func(o *apitest.Options) { o.Timeout = 2 * time.Second })
	key := g.Unlimited()
	for _, s := range apitest.Submissions() {
		for name, reply := range unknownOutcome(g) {
			for _, u := range g.Ups {
				u.Forget()
			}
			apitest.ApplyHealthy(g.Pool, s.Chain, time.Now(), len(g.Ups))
			g.All(reply)
			before := g.Usage(key)
			a := g.RPC(key, s.Chain, apitest.Call(s.Method, s.Params))
			data := a.Refused(http.StatusConflict, -32017)
			if n := g.Sent(s.Method); n != 1 {
				t.Errorf("%s, %s: %d requests reached the upstreams", s.Method, name, n)
			}
			if data[s.Field] != s.Wanted || !strings.Contains(fmt.Sprint(data["rule"]), "before signing again") {
				t.Errorf("%s, %s: data is %v, want %s %s", s.Method, name, data, s.Field, s.Wanted)
			}
			if a.Header.Get("Retry-After") != "" {
				t.Errorf("%s, %s: Retry-After invites a stock client to send it again", s.Method, name)
			}
			after := g.Usage(key)
			if after["outcome_unknown"].Requests != before["outcome_unknown"].Requests+1 ||
				after["ok"].Units+after["refund"].Units != 0 {
				t.Errorf("%s, %s: usage went from %v to %v, want it refunded", s.Method, name, before, after)
			}
		}
	}
}

func TestSubmission_RefusedConnectionSendsItOnceElsewhere(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	g.Ups[0].Close()
	g.Ups[1].Default(testkit.Result("0xhash"))
	for _, s := range apitest.Submissions() {
		if got := g.RPC(key, s.Chain, apitest.Call(s.Method, s.Params)).Result(); got != `"0xhash"` {
			t.Errorf("%s: got %s", s.Method, got)
		}
		if n := g.Ups[1].Count(s.Method); n != 1 {
			t.Errorf("%s: the other upstream got it %d times", s.Method, n)
		}
	}
	g.Ups[1].Close()
	for _, s := range apitest.Submissions() {
		a := g.RPC(key, s.Chain, apitest.Call(s.Method, s.Params))
		a.Refused(http.StatusBadGateway, -32022)
		if !strings.Contains(a.Body, "was not sent") {
			t.Errorf("%s: the message is not true: %s", s.Method, a.Body)
		}
	}
}

func TestSubmission_ErrorsInBandPassWithHTTP200(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	for _, s := range apitest.Submissions() {
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
			t.Run(said.message, func(t *testing.T) {
				apitest.ApplyHealthy(g.Pool, s.Chain, time.Now(), len(g.Ups))
				g.All(testkit.Error(said.code, said.message))
				for _, u := range g.Ups {
					u.Forget()
				}
				a := g.RPC(key, s.Chain, apitest.Call(s.Method, s.Params))
				want := fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"error":{"code":%d,"message":%q}}`, said.code,
					said.message)
				in := expect.In(t, "%s", s.Method)
				expect.Equal(in, a.Status, http.StatusOK)
				expect.Equal(in, a.Body, want)
				expect.Equal(in, g.Sent(s.Method), 1)
			})
		}
	}
}

func TestSubmission_TwoIdenticalOnesOfABatchAreBothSent(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	for _, s := range apitest.Submissions() {
		one := apitest.Call(s.Method, s.Params)
		a := g.RPC(key, s.Chain, "["+one+","+one+"]")
		if a.Status != http.StatusOK || g.Sent(s.Method) != 2 {
			t.Errorf("%s: HTTP %d, %d sent", s.Method, a.Status, g.Sent(s.Method))
		}
	}
}

func TestSubmission_GoesOnWhenTheClientDisconnects(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	s := apitest.Submissions()[0]
	g.All(testkit.Hang(testkit.Result("0xhash")))
	cancel := g.Abandon(key, s.Chain, apitest.Call(s.Method, s.Params))
	testkit.Eventually(t, apitest.Timeout, func() bool { return g.Sent(s.Method) == 1 }, "the submission arrives")
	cancel()
	for _, u := range g.Ups {
		u.Release()
	}
	testkit.Eventually(t, apitest.Timeout, func() bool { return g.Recorder.Written() == 1 }, "the call is recorded")
	if n := g.Sent(s.Method); n != 1 {
		t.Errorf("%d requests reached the upstreams", n)
	}
	if u := g.Usage(key); u["ok"] != (apitest.Figures{Requests: 1, Units: 1000}) || len(u) != 1 {
		t.Errorf("usage is %v, want one charged call", u)
	}
}

func TestUpstreamRequest_CarriesNothingOfTheClients(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	s := apitest.Submissions()[0]
	for _, method := range []string{s.Method, "eth_call"} {
		g.RPC(key, s.Chain, apitest.Call(method, s.Params), "Idempotency-Key", "client-1", "X-Forwarded-For",
			"192.0.2.1",
			"Cookie", "client=1", "X-Request-Id", "client-id").Result()
	}
	for _, r := range g.Ups[0].Requests() {
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
