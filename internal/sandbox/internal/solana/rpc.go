package solana

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
)

const (
	maxBody  = 2 << 20
	maxBatch = 1_000
)

// marshal does not escape < and >, like real nodes.
func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), err
}

type request struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

type success struct {
	Version string          `json:"jsonrpc"`
	Result  any             `json:"result"`
	ID      json.RawMessage `json:"id"`
}

type failure struct {
	Version string          `json:"jsonrpc"`
	Error   *rpcError       `json:"error"`
	ID      json.RawMessage `json:"id"`
}

// method answers one call. It runs while the ledger's mutex is read-locked.
type method func(*Node, *params) (any, error)

func (n *Node) serveHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && r.URL.Path == "/health" {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, "ok")
		return
	}
	if r.Method != http.MethodPost {
		http.Error(w, "Used HTTP Method is not allowed. POST or OPTIONS is required", http.StatusMethodNotAllowed)
		return
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		http.Error(w, "Supplied content type is not allowed. Content-Type: application/json is required",
			http.StatusUnsupportedMediaType)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			http.Error(w, "request body too large", http.StatusRequestEntityTooLarge)
		}
		return
	}
	answer, err := marshal(n.answer(body))
	if err != nil {
		n.cfg.Logger.Warn("scripted solana node cannot encode its answer", "error", err)
		http.Error(w, "encoding failed", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer)
}

// answer handles a body with one call or a batch.
func (n *Node) answer(body []byte) any {
	body = bytes.TrimSpace(body)
	if len(body) == 0 || body[0] != '[' {
		return n.call(body)
	}
	var batch []json.RawMessage
	if err := json.Unmarshal(body, &batch); err != nil {
		return parseError()
	}
	if len(batch) == 0 || len(batch) > maxBatch {
		return invalidRequest(nil)
	}
	answers := make([]any, len(batch))
	for i, raw := range batch {
		answers[i] = n.call(raw)
	}
	return answers
}

func (n *Node) call(raw []byte) any {
	if !json.Valid(raw) {
		return parseError()
	}
	var q request
	if err := json.Unmarshal(raw, &q); err != nil || q.Version != "2.0" || q.Method == "" {
		return invalidRequest(q.ID)
	}
	run, known := methods[q.Method]
	if !known {
		return failure{"2.0", &rpcError{Code: -32601, Message: "Method not found"}, q.ID}
	}
	p, err := newParams(q.Params)
	if err == nil {
		var result any
		if result, err = n.locked(run, p); err == nil {
			return success{"2.0", result, q.ID}
		}
	}
	if refused, ok := errors.AsType[*rpcError](err); ok {
		return failure{"2.0", refused, q.ID}
	}
	n.cfg.Logger.Warn("scripted solana node failed", "method", q.Method, "error", err)
	return failure{"2.0", &rpcError{Code: -32603, Message: "Internal error"}, q.ID}
}

func (n *Node) locked(run method, p *params) (any, error) {
	n.ledger.mu.RLock()
	defer n.ledger.mu.RUnlock()
	return run(n, p)
}

func parseError() failure {
	return failure{"2.0", &rpcError{Code: -32700, Message: "Parse error"}, nil}
}

func invalidRequest(id json.RawMessage) failure {
	return failure{"2.0", &rpcError{Code: -32600, Message: "Invalid request"}, id}
}
