package ens

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/chainaccess/gateway/internal/egress"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

// callback returns the call of the chain after a gateway's answer.
func callback(t *testing.T, answer []byte) []byte {
	t.Helper()
	return append([]byte{0xca, 0x11, 0xba, 0xcc}, pack(t, "bytes,bytes", answer, []byte("extra"))...)
}

func TestCCIP_AsksTheLookupsGateway(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ url, asks, body string }{
		"by GET": {
			"https://gateway.example/{sender}/{data}.json",
			"https://gateway.example/0xeeeeeeee14d718c2b47d9923deab1335e144eeee/0xda7a.json", "",
		},
		"by POST": {
			"https://gateway.example/{sender}", "https://gateway.example/0xeeeeeeee14d718c2b47d9923deab1335e144eeee",
			`{"data":"0xda7a","sender":"0xeeeeeeee14d718c2b47d9923deab1335e144eeee"}`,
		},
	} {
		g := answering("0xa115e4")
		n, chain := names(t, g, reverts(offchain(t, universal, []string{c.url}, []byte{0xda, 0x7a})),
			gives(resolved(t, pack(t, "address", holder))))
		got, err := n.Resolve(t.Context(), "a.eth")
		in := expect.In(t, "%s", name)
		require.NoError(in, err)
		require.True(in, got.Resolved)
		expect.Equal(in, *got.Address, *address(holder))
		require.Len(in, g.asked, 1)
		expect.Equal(in, g.asked[0].URL, c.asks)
		expect.Equal(in, string(g.asked[0].Body), c.body)
		expect.Equal(in, g.asked[0].Body == nil, c.body == "")
		if want := callback(t, []byte{0xa1, 0x15, 0xe4}); !bytes.Equal(chain.asked[1], want) {
			t.Errorf("%s: called back with %x, want %x", name, chain.asked[1], want)
		}
	}
}

// EIP-3668: a 4xx ends the lookup, any other failure leads to the next gateway.
func TestCCIP_TriesGatewaysInTheirOrder(t *testing.T) {
	t.Parallel()
	all := []string{"https://a/{data}", "https://b/{data}", "https://c/{data}", "https://d/{data}", "https://e/{data}"}
	a, b, c, d, e := "https://a/0x", "https://b/0x", "https://c/0x", "https://d/0x", "https://e/0x"
	for name, test := range map[string]struct {
		statuses map[string]int
		asked    string
		fails    string // text of the fault; empty for none
	}{
		"the first answers": {map[string]int{a: 200, b: 200}, a, ""},
		"5xx":               {map[string]int{a: 500, b: 503, c: 200}, a + " " + b + " " + c, ""},
		"no connection":     {map[string]int{b: 200}, a + " " + b, ""},
		"a redirect":        {map[string]int{a: 307, b: 200}, a + " " + b, ""},
		"4xx":               {map[string]int{a: 404, b: 200}, a, "HTTP 404"},
		"4xx after 5xx":     {map[string]int{a: 500, b: 429, c: 200}, a + " " + b, "HTTP 429"},
		"all fail": {
			map[string]int{a: 500, b: 500, c: 500, d: 500}, a + " " + b + " " + c + " " + d, "no answer that",
		},
		"the fifth is there": {map[string]int{e: 200}, a + " " + b + " " + c + " " + d, "no answer that"},
	} {
		t.Run(name, func(t *testing.T) {
			g := withStatus(test.statuses)
			steps := []step{reverts(offchain(t, universal, all, nil)), gives(resolved(t, pack(t, "address", holder)))}
			if test.fails != "" {
				steps = steps[:1]
			}
			n, _ := names(t, g, steps...)
			got, err := n.Resolve(t.Context(), "a.eth")
			if test.fails != "" {
				if refusal := failed(t, err, fault.UpstreamFailed); !strings.Contains(refusal.Message, test.fails) {
					t.Errorf("%s", refusal.Message)
				}
			} else if err != nil || !got.Resolved {
				t.Errorf("%+v, %v", got, err)
			}
			if g.urls() != test.asked {
				t.Errorf("asked %s, want %s", g.urls(), test.asked)
			}
		})
	}
}

func TestCCIP_TakesOnlyJSONWithHexadecimalData(t *testing.T) {
	t.Parallel()
	for body, fine := range map[string]bool{
		`{"data":"0x"}`: true, `{"data":"0x00FF"}`: true, ` {"data":"0x01","more":[1]} `: true,
		``: false, `0x01`: false, `"0x01"`: false, `{}`: false, `null`: false, `[]`: false, `{"data":null}`: false,
		`{"data":""}`: false, `{"data":"01"}`: false, `{"data":"0x1"}`: false, `{"data":"0xzz"}`: false,
		`{"data":1}`: false, `{"data":["0x01"]}`: false, `{"data":"0x01"} {}`: false, `{"data":"0x01"`: false,
		`<html>`: false, strings.Repeat("[", 100000): false,
	} {
		t.Run(body, func(t *testing.T) {
			g := &gateways{answer: func(egress.Request) (egress.Answer, error) {
				return egress.Answer{Status: 200, Body: []byte(body)}, nil
			}}
			steps := []step{
				reverts(offchain(t, universal, []string{"https://a/{data}"}, nil)),
				gives(resolved(t, pack(t, "address", holder))),
			}
			if !fine {
				steps = steps[:1]
			}
			n, _ := names(t, g, steps...)
			if _, err := n.Resolve(t.Context(), "a.eth"); fine != (err == nil) {
				t.Errorf("%.40s: %v", body, err)
			} else if !fine {
				_ = failed(t, err, fault.UpstreamFailed)
			}
		})
	}
}

func TestCCIP_DoesNotFollowALookupOfAnotherContract(t *testing.T) {
	t.Parallel()
	g := answering("0x")
	n, _ := names(t, g, reverts(offchain(t, holder, []string{"https://a/{data}"}, nil)))
	_, err := n.Resolve(t.Context(), "a.eth")
	_ = failed(t, err, fault.UpstreamFailed)
	n, _ = names(t, g, reverts(offchain(t, universal, []string{"https://a/{data}"}, nil)[:100]))
	_, err = n.Resolve(t.Context(), "a.eth")
	_ = failed(t, err, fault.UpstreamFailed)
	if len(g.asked) > 0 {
		t.Errorf("asked %s", g.urls())
	}
}

func TestCCIP_ChainedLookupsAreBounded(t *testing.T) {
	t.Parallel()
	again := reverts(offchain(t, universal, []string{"https://a/{data}"}, nil))
	last := gives(resolved(t, pack(t, "address", holder)))
	n, _ := names(t, answering("0x"), again, again, again, again, last)
	if got, err := n.Resolve(t.Context(), "a.eth"); err != nil || !got.Resolved {
		t.Errorf("after %d lookups: %+v, %v", maxHops, got, err)
	}
	g := answering("0x")
	n, _ = names(t, g, again, again, again, again, again)
	_, err := n.Resolve(t.Context(), "a.eth")
	if _ = failed(t, err, fault.UpstreamFailed); len(g.asked) != maxHops {
		t.Errorf("%d lookups were asked, want %d", len(g.asked), maxHops)
	}
}

// batchOf returns the lookup of a batch, one per list of URLs.
func batchOf(t *testing.T, gateway string, lists ...[]string) []byte {
	t.Helper()
	var requests []request
	for i, urls := range lists {
		requests = append(requests, request{common.Address{byte(i + 1)}, urls, []byte{byte(i + 1)}})
	}
	return offchain(t, universal, []string{gateway}, packed(t, "query((address,string[],bytes)[])", "tuple[]",
		requests))
}

// A batch is split whatever its gateway, and each request is sent to its own gateways (ENSIP-21).
func TestCCIP_BatchIsAnsweredHere(t *testing.T) {
	t.Parallel()
	for _, gateway := range []string{localBatch, "https://batch.example/{data}"} {
		g := withStatus(map[string]int{"https://a/0x01": 200, "https://b/0x02": 404, "https://d/0x03": 500})
		n, chain := names(t, g,
			reverts(batchOf(t, gateway, []string{"https://a/{data}"}, []string{"https://b/{data}"},
				[]string{"https://c/{data}", "https://d/{data}"}, nil)),
			gives(resolved(t, pack(t, "address", holder))))
		if got, err := n.Resolve(t.Context(), "a.eth"); err != nil || !got.Resolved {
			t.Errorf("%+v, %v", got, err)
		}
		if got, want := g.urls(), "https://a/0x01 https://b/0x02 https://c/0x03 https://d/0x03"; got != want {
			t.Errorf("asked %s, want %s", got, want)
		}
		httpError := func(status uint16) []byte {
			return packed(t, "HttpError(uint16,string)", "uint16 string", status, "")
		}
		want := callback(t, pack(t, "bool[] bytes[]", []bool{false, true, true, true}, [][]byte{
			{1}, httpError(404), httpError(500), packed(t, "Error(string)", "string", "no usable answer"),
		}))
		if !bytes.Equal(chain.asked[1], want) {
			t.Errorf("called back with\n%x, want\n%x", chain.asked[1], want)
		}
	}
}

func TestCCIP_InvalidBatchIsNotFollowed(t *testing.T) {
	t.Parallel()
	many := make([][]string, maxBatch+1)
	requests := packed(t, "query((address,string[],bytes)[])", "tuple[]", []request{
		{holder, []string{"https://a/"}, nil},
	})
	for name, lookup := range map[string][]byte{
		"another question": offchain(t, universal, []string{localBatch}, []byte{1, 2, 3, 4, 5}),
		"no question":      offchain(t, universal, []string{localBatch}, nil),
		"nothing behind":   offchain(t, universal, []string{localBatch}, callQuery[:]),
		"half a request":   offchain(t, universal, []string{localBatch}, requests[:len(requests)-64]),
		"too many":         batchOf(t, localBatch, many...),
	} {
		t.Run(name, func(t *testing.T) {
			g := answering("0x")
			n, _ := names(t, g, reverts(lookup))
			_, err := n.Resolve(t.Context(), "a.eth")
			if _ = failed(t, err, fault.UpstreamFailed); len(g.asked) > 0 {
				t.Errorf("asked %s", g.urls())
			}
		})
	}
}

// A resolution sends a bounded number of requests, however its contracts multiply them.
func TestCCIP_RequestsOfAResolutionAreBounded(t *testing.T) {
	t.Parallel()
	var lists [][]string
	for range maxBatch {
		lists = append(lists, []string{"https://a/", "https://b/", "https://c/", "https://d/"})
	}
	g := withStatus(nil)
	n, _ := names(t, g, reverts(batchOf(t, localBatch, lists...)), reverts(batchOf(t, localBatch, lists...)),
		reverts(packed(t, "HttpError(uint16,string)", "uint16 string", uint16(502), "")))
	_, err := n.Resolve(t.Context(), "a.eth")
	if _ = failed(t, err, fault.UpstreamFailed); len(g.asked) != maxRequests {
		t.Errorf("%d requests, want %d", len(g.asked), maxRequests)
	}
}

// A second question of the same resolution has what the first left of the limits: requests,
// lookups, and time with gateways.
func TestCCIP_SecondQuestionHasNoGatewaysOfItsOwn(t *testing.T) {
	t.Parallel()
	unsupported := reverts(packed(t, "UnsupportedResolverProfile(bytes4)", "bytes4", [4]byte(callAddr)))
	var lists [][]string
	for range maxBatch {
		lists = append(lists, []string{"https://a/", "https://b/"})
	}
	g := withStatus(nil)
	alone := reverts(offchain(t, universal, []string{"https://a/{data}"}, nil))
	n, _ := names(t, g, reverts(batchOf(t, localBatch, lists...)), unsupported, alone)
	_, err := n.Resolve(t.Context(), "a.eth")
	if _ = failed(t, err, fault.UpstreamFailed); len(g.asked) != maxRequests {
		t.Errorf("%d requests, want %d", len(g.asked), maxRequests)
	}
	g = answering("0x")
	n, _ = names(t, g, alone, alone, alone, unsupported, alone, alone)
	_, err = n.Resolve(t.Context(), "a.eth")
	if _ = failed(t, err, fault.UpstreamFailed); len(g.asked) != maxHops {
		t.Errorf("%d lookups, want %d", len(g.asked), maxHops)
	}
	// A gateway's failure in the first question does not affect the second.
	n, _ = names(t, answering("0x"), alone, unsupported,
		reverts(packed(t, "ResolverError(bytes)", "bytes", []byte("no"))))
	if got, err := n.Resolve(t.Context(), "a.eth"); err != nil || got.Note != noteRefused {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestCCIP_TimeWithGatewaysIsBoundedInAll(t *testing.T) {
	t.Parallel()
	clock := testkit.NewClock(checked)
	slow := &gateways{answer: func(egress.Request) (egress.Answer, error) {
		clock.Advance(maxWait / 2)
		return egress.Answer{Status: 200, Body: []byte(`{"data":"0x01"}`)}, nil
	}}
	again := reverts(offchain(t, universal, []string{"https://a/{data}"}, nil))
	n, _ := names(t, slow, again, again, again)
	n.now = clock.Now
	_, err := n.Resolve(t.Context(), "a.eth")
	if refusal := failed(t, err, fault.UpstreamFailed); !errors.Is(refusal.Cause, errTooSlow) || len(slow.asked) > 3 {
		t.Errorf("%v after %d requests", refusal.Cause, len(slow.asked))
	}
}

func TestCCIP_URLIsBoundedBeforeItIsFilled(t *testing.T) {
	t.Parallel()
	g := answering("0x")
	n, _ := names(t, g,
		reverts(offchain(t, universal, []string{"https://a/" + strings.Repeat("{data}", 2000)}, make([]byte, 50_000))))
	_, err := n.Resolve(t.Context(), "a.eth")
	if _ = failed(t, err, fault.UpstreamFailed); len(g.asked) > 0 {
		t.Errorf("asked a URL of %d bytes", len(g.asked[0].URL))
	}
}

// The chain's answer after a gateway failed is that failure: it must be neither cached nor charged
// as an answer.
func TestCCIP_FailedGatewayIsNoAnswer(t *testing.T) {
	t.Parallel()
	batch := reverts(batchOf(t, localBatch, []string{"https://a/{data}"}))
	for name, c := range map[string]struct {
		status  int
		says    []byte
		message string
	}{
		"its status": {
			404, packed(t, "HttpError(uint16,string)", "uint16 string", uint16(404), ""), "HTTP 404",
		},
		"no status":      {0, packed(t, "Error(string)", "string", "no usable answer"), "no answer that"},
		"a wrong number": {200, packed(t, "InvalidBatchGatewayResponse()", ""), "no answer that"},
		"a signature not taken": {
			200, packed(t, "ResolverError(bytes)", "bytes", []byte("expired")), "no answer that",
		},
		"an answer not readable": {200, nil, "no answer that"},
	} {
		t.Run(name, func(t *testing.T) {
			statuses := map[string]int{}
			if c.status > 0 {
				statuses["https://a/0x01"] = c.status
			}
			for _, ask := range []func(*Names) error{
				func(n *Names) error { _, err := n.Resolve(t.Context(), "a.eth"); return err },
				func(n *Names) error { _, err := n.Reverse(t.Context(), *address(holder)); return err },
			} {
				says := reverts(c.says)
				if c.says == nil {
					says = reverts([]byte{})
				}
				n, _ := names(t, withStatus(statuses), batch, says)
				if refusal := failed(t, ask(n), fault.UpstreamFailed); !strings.Contains(refusal.Message, c.message) {
					t.Errorf("%s", refusal.Message)
				}
			}
		})
	}
	// A resolver that was asked off-chain and has no such record is a valid answer.
	n, _ := names(t, answering("0x"), batch,
		reverts(packed(t, "ResolverNotFound(bytes)", "bytes", []byte("\x01a\x00"))))
	if got, err := n.Resolve(t.Context(), "a.eth"); err != nil || got.Note != noteNoResolver {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestCCIP_ExpiredTimeIsReported(t *testing.T) {
	t.Parallel()
	for name, lookup := range map[string][]byte{
		"alone":      offchain(t, universal, []string{"https://a/", "https://b/"}, nil),
		"in a batch": batchOf(t, localBatch, []string{"https://a/", "https://b/"}),
	} {
		ctx, cancel := context.WithCancel(t.Context())
		g := &gateways{answer: func(egress.Request) (egress.Answer, error) {
			cancel()
			return egress.Answer{}, context.Canceled
		}}
		n, _ := names(t, g, reverts(lookup))
		_, err := n.Resolve(ctx, "a.eth")
		in := expect.In(t, "%s", name)
		expect.ErrorIs(in, err, context.Canceled)
		expect.False(in, errors.As(err, new(*fault.Error)), err)
		expect.Len(in, g.asked, 1)
	}
}

// Hostile gateways behind the real address guard: none can reach an internal service, or use more
// time and memory than is allowed.
func TestCCIP_HostileGatewaysAreAbandoned(t *testing.T) {
	t.Parallel()
	var inside atomic.Int64
	secret := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		inside.Add(1)
		_, _ = io.WriteString(w, `{"data":"0x"}`)
	})
	_, port, err := net.SplitHostPort(secret)
	if err != nil {
		t.Fatal(err)
	}
	hostile := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // without this the server does not notice that a client leaves
		switch r.URL.Path {
		case "/redirect":
			http.Redirect(w, r, "http://"+secret+"/", http.StatusTemporaryRedirect)
		case "/megabytes":
			_, _ = io.WriteString(w, `{"data":"0x`+strings.Repeat("00", 1<<20)+`"}`)
		case "/never":
			<-r.Context().Done()
		case "/slowly":
			_, _ = io.WriteString(w, `{"data":"0x`)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		case "/gzip":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, "\x1f\x8b\x08")
		case "/closed":
			panic(http.ErrAbortHandler)
		}
	})
	clock := testkit.NewClock(checked)
	// a failure of one path must not suspend the host for another
	later := func() time.Time { return clock.Advance(time.Hour) }
	guard := egress.New(egress.Options{Now: later, Trusted: []string{hostile}, Timeout: 200 * time.Millisecond})
	for _, url := range []string{
		"http://" + hostile + "/redirect", "http://" + hostile + "/megabytes", "http://" + hostile + "/never",
		"http://" + hostile + "/slowly", "http://" + hostile + "/gzip", "http://" + hostile + "/closed",
		"http://" + hostile + "/empty", "http://" + secret + "/", "https://" + secret + "/", "https://127.0.0.1/",
		"https://localhost/", "https://localhost:" + port + "/", "https://[::1]/", "https://[::ffff:127.0.0.1]/",
		"https://0x7f000001/", "https://2130706433/", "https://127.1/", "https://169.254.169.254/latest/meta-data/",
		"https://10.0.0.1/", "https://[fd00:ec2::254]/", "file:///etc/passwd", "ftp://" + hostile + "/", "", "{data}",
	} {
		for kind, lookup := range map[string][]byte{
			"alone":      offchain(t, universal, []string{url}, []byte{1}),
			"in a batch": batchOf(t, localBatch, []string{url}),
		} {
			steps := []step{reverts(lookup)}
			if kind != "alone" {
				steps = append(steps, reverts(packed(t, "Error(string)", "string", "no usable answer")))
			}
			n, _ := names(t, guard, steps...)
			_, err := n.Resolve(t.Context(), "a.eth")
			refusal := failed(t, err, fault.UpstreamFailed)
			if text, _ := json.Marshal(refusal.Data); strings.Contains(refusal.Message+string(text), "127.0.0.1") {
				t.Errorf("%s, %s: the client is told %s", url, kind, refusal.Message)
			}
		}
	}
	if inside.Load() > 0 {
		t.Errorf("a gateway led to %d requests inside", inside.Load())
	}
}

// serve starts a server and returns its host and port.
func serve(t *testing.T, behave http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(behave)
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}
