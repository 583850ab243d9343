package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// serveUpstream is the node that both sides relay to. It does the least that a node does: decode, look up, encode. It prints its
// address.
func serveUpstream(ctx context.Context, out io.Writer) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintln(out, listener.Addr().String())
	server := &http.Server{Handler: http.HandlerFunc(answer), ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.Serve(listener); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// request and response are decoded and encoded as nodes do it; the balance follows from the address, so that every answer differs as
// its request does.
type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params []any           `json:"params"`
}

type response struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  string          `json:"result"`
}

func answer(w http.ResponseWriter, r *http.Request) {
	var req request
	if err := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&req); err != nil {
		http.Error(w, "not a request", http.StatusBadRequest)
		return
	}
	resp := response{Version: "2.0", ID: req.ID}
	switch {
	case req.Method == "eth_chainId":
		resp.Result = "0x1"
	case req.Method == "eth_getBalance" && len(req.Params) > 0:
		address, _ := req.Params[0].(string)
		sum := sha256.Sum256([]byte(address))
		resp.Result = "0x" + hex.EncodeToString(sum[:8])
	default:
		resp.Result = "0x10"
	}
	w.Header()["Content-Type"] = jsonType
	_ = json.NewEncoder(w).Encode(resp) // the client may be gone
}

var jsonType = []string{"application/json"}
