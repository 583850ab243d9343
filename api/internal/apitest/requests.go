package apitest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/chainaccess/gateway/relay/chain"
)

// BatchOf returns a batch of n calls with the ids 0 to n-1.
func BatchOf(n int, method string) string {
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":[%d]}`, i, method, i)
	}
	return "[" + strings.Join(items, ",") + "]"
}

// Ask sends a request as a client would, and checks what is true of every answer: it has a request
// id, and it contains no secret.
func (g *Gateway) Ask(method, path, key, body string, headers ...string) Answer {
	g.T.Helper()
	req, err := http.NewRequestWithContext(g.T.Context(), method, g.URL+path, strings.NewReader(body))
	g.Must(err)
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	return g.Send(req)
}

// Send sends a request, and checks the request id of its answer.
func (g *Gateway) Send(req *http.Request) Answer {
	g.T.Helper()
	resp, err := g.Client.Do(req)
	if err != nil {
		g.T.Fatalf("%s %s: %v", req.Method, req.URL.Path, err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		g.T.Fatalf("%s %s: the answer broke off after %d bytes: %v", req.Method, req.URL.Path, len(body), err)
	}
	a := Answer{T: g.T, Status: resp.StatusCode, Header: resp.Header, Body: string(body)}
	g.checkRequestID(a)
	g.NoSecretsIn("the body", a.Body)
	g.NoSecretsIn("the headers", fmt.Sprint(a.Header))
	return a
}

// Begin sends a request without Accept-Encoding, and reads only the head of the answer.
func (g *Gateway) Begin(key, body string) (Answer, io.Reader) {
	g.T.Helper()
	req, err := http.NewRequestWithContext(g.T.Context(), http.MethodPost, g.URL+"/rpc/eth_mainnet",
		strings.NewReader(body))
	g.Must(err)
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Accept-Encoding", "identity")
	resp, err := g.Client.Do(req)
	g.Must(err)
	g.T.Cleanup(func() { _ = resp.Body.Close() })
	return Answer{T: g.T, Status: resp.StatusCode, Header: resp.Header}, resp.Body
}

// RPC posts a body to a chain.
func (g *Gateway) RPC(key string, id chain.ID, body string, headers ...string) Answer {
	g.T.Helper()
	return g.Ask(http.MethodPost, "/rpc/"+string(id), key, body, headers...)
}

// Eth posts a call without parameters to Ethereum.
func (g *Gateway) Eth(key, method string, headers ...string) Answer {
	g.T.Helper()
	return g.RPC(key, chain.EthMainnet, Call(method, "[]"), headers...)
}

// Call returns a call with the id 7.
func Call(method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":%s}`, method, params)
}

// Abandon sends a request. leave disconnects its client and waits until the client is gone.
func (g *Gateway) Abandon(key string, id chain.ID, body string) (leave func()) {
	g.T.Helper()
	ctx, cancel := context.WithCancel(g.T.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.URL+"/rpc/"+string(id), strings.NewReader(body))
	g.Must(err)
	req.Header.Set("Authorization", "Bearer "+key)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		resp, err := g.Client.Do(req)
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	}()
	return func() {
		cancel()
		<-gone
	}
}

// Get sends a GET request with a key.
func (g *Gateway) Get(path, key string) Answer {
	g.T.Helper()
	return g.Ask(http.MethodGet, path, key, "")
}
