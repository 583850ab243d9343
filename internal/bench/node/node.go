// Package node is the upstream of the benchmarks, for the gateway and for nginx.
package node

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// Serve runs the node that both sides relay to, in its own process. It does the minimum of a
// node's work: decode, look up, encode.
func Serve(ctx context.Context, address string) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: &Node{}, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.Serve(listener); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// Node answers JSON-RPC by POST. A GET returns the number of calls so far; at sourcesTarget, the
// number of calls about owners of tokens.
type Node struct {
	calls   atomic.Int64
	sources sources
}

// rpcRequest and rpcResponse are decoded and encoded as by a node.
type rpcRequest struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params []any           `json:"params"`
}

type rpcResponse struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result"`
}

var jsonType = []string{"application/json"}

// ServeHTTP answers a call. Different requests have different answers.
func (n *Node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && r.URL.Path == sourcesTarget {
		n.sources.write(w)
		return
	}
	if r.Method == http.MethodGet {
		_, _ = fmt.Fprintln(w, n.calls.Load()) // the caller asks again
		return
	}
	n.calls.Add(1)
	var req rpcRequest
	if err := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&req); err != nil {
		http.Error(w, "not a request", http.StatusBadRequest)
		return
	}
	w.Header()["Content-Type"] = jsonType
	if req.Method == TraceMethod {
		writeTrace(w, req.ID, TraceBytes)
		return
	}
	result := n.sources.answer(r.Context(), req)
	if result == nil {
		result = resultOf(req, time.Now())
	}
	// the client may have disconnected
	_ = json.NewEncoder(w).Encode(rpcResponse{Version: "2.0", ID: req.ID, Result: result})
}
