package solana

import (
	"encoding/base64"
	"slices"
	"strconv"

	"github.com/mr-tron/base58"
)

const (
	maxStatuses   = 256
	maxSignatures = 1_000
	maxBase58Wire = 1_683 // characters of 1,232 bytes
	maxBase64Wire = 1_644
)

// decodeWire decodes the first parameter of sendTransaction and simulateTransaction.
func decodeWire(encoded, encoding string) (*wire, error) {
	var raw []byte
	var err error
	limit := maxBase64Wire
	switch encoding {
	case "", "base58":
		if limit = maxBase58Wire; len(encoded) <= limit {
			raw, err = base58.Decode(encoded)
		}
		encoding = "base58"
	case "base64":
		if len(encoded) <= limit {
			raw, err = base64.StdEncoding.DecodeString(encoded)
		}
	default:
		return nil, invalidParams("unsupported encoding: %s. Supported encodings: base58, base64", encoding)
	}
	const subject = "solana_transaction::versioned::VersionedTransaction"
	switch {
	case err != nil:
		return nil, invalidParams("invalid %s encoding: %v", encoding, err)
	case len(encoded) > limit:
		return nil, invalidParams("%s encoded %s too large: %d bytes (max: encoded/raw %d/%d)", encoding, subject,
			len(encoded), limit, maxWireBytes)
	case len(raw) > maxWireBytes:
		return nil, invalidParams("decoded %s too large: %d bytes (max: %d bytes)", subject, len(raw), maxWireBytes)
	}
	w, err := parseWire(raw)
	if err != nil {
		return nil, invalidParams("failed to deserialize %s: %v", subject, err)
	}
	if refused := w.sanitize(); refused != nil {
		return nil, invalidParams("invalid transaction: %s", refused.text)
	}
	if len(w.signatures) != w.required {
		return nil, invalidParams("invalid transaction: %s", errSanitize.text)
	}
	return w, nil
}

// sendTransaction checks as a node does: without preflight, even an invalid transaction gets its
// signature returned, and is dropped later.
func sendTransaction(n *Node, p *params) (any, error) {
	encoded, err := p.text(0)
	if err != nil {
		return nil, err
	}
	o, err := p.options(1)
	if err != nil {
		return nil, err
	}
	w, err := decodeWire(encoded, o.Encoding)
	if err != nil {
		return nil, err
	}
	genuine := w.verify()
	if !o.SkipPreflight {
		if !genuine {
			return nil, &rpcError{Code: -32003, Message: "Transaction signature verification failure"}
		}
		at, err := n.view(options{Commitment: o.PreflightCommitment, MinContextSlot: o.MinContextSlot})
		if err != nil {
			return nil, err
		}
		if trial := n.ledger.execute(w, bank{n.ledger, at.slot, at.height}); trial.err != nil {
			return nil, &rpcError{
				Code: -32002, Message: "Transaction simulation failed: " + trial.err.text, Data: trial.simulation(),
			}
		}
	}
	if genuine && !n.ledger.enqueue(w) {
		return nil, &rpcError{
			Code: -32603, Message: "The sandbox holds " + strconv.Itoa(maxPending) +
				" waiting transactions: send again after the next slot",
		}
	}
	return w.signatures[0], nil
}

// simulation returns the documented simulation result.
func (o *outcome) simulation() map[string]any {
	logs := o.logs
	if logs == nil {
		logs = []string{}
	}
	return map[string]any{
		"err": o.err, "logs": logs, "accounts": nil, "unitsConsumed": o.units, "returnData": nil,
		"innerInstructions": nil, "replacementBlockhash": nil, "loadedAccountsDataSize": o.loaded,
	}
}

func simulateTransaction(n *Node, p *params) (any, error) {
	encoded, err := p.text(0)
	if err != nil {
		return nil, err
	}
	at, o, err := viewAt(n, p, 1)
	if err != nil {
		return nil, err
	}
	w, err := decodeWire(encoded, o.Encoding)
	if err != nil {
		return nil, err
	}
	if o.SigVerify && o.ReplaceBlockhash {
		return nil, invalidParams("sigVerify may not be used with replaceRecentBlockhash")
	}
	if o.SigVerify && !w.verify() {
		return nil, &rpcError{Code: -32003, Message: "Transaction signature verification failure"}
	}
	var trial outcome
	if o.ReplaceBlockhash {
		trial = n.ledger.run(w, bank{n.ledger, at.slot, at.height})
	} else {
		trial = n.ledger.execute(w, bank{n.ledger, at.slot, at.height})
	}
	view := trial.simulation()
	if o.ReplaceBlockhash {
		view["replacementBlockhash"] = blockhashView{at.hash, at.height + maxAge}
	}
	if o.Accounts != nil {
		if view["accounts"], err = n.accountsAfter(&trial, at, o.Accounts); err != nil {
			return nil, err
		}
	}
	return inContext(at, view), nil
}

// accountsAfter returns accounts as they are after a simulation.
func (n *Node) accountsAfter(trial *outcome, at *block, want *wanted) ([]*accountView, error) {
	views := make([]*accountView, len(want.Addresses))
	for i, s := range want.Addresses {
		k, err := parseKey(s)
		if err != nil {
			return nil, err
		}
		if views[i], err = n.viewAccount(k, at, options{Encoding: "base64"}); err != nil {
			return nil, err
		}
		changed, ok := trial.writes[k]
		switch {
		case !ok || trial.err != nil:
		case changed.lamports == 0:
			views[i] = nil
		case views[i] == nil:
			views[i] = &accountView{
				Data: []string{"", "base64"}, Lamports: changed.lamports, Owner: changed.owner,
				RentEpoch: rentExemptEver,
			}
		default:
			views[i].Lamports = changed.lamports
		}
	}
	return views, nil
}

func getFeeForMessage(n *Node, p *params) (any, error) {
	encoded, err := p.text(0)
	if err != nil {
		return nil, err
	}
	at, _, err := viewAt(n, p, 1)
	if err != nil {
		return nil, err
	}
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, invalidParams("invalid base64 encoding: %v", err)
	}
	m, _, err := parseMessage(&reader{buf: raw})
	if err != nil {
		return nil, invalidParams("failed to deserialize solana_message::versions::VersionedMessage: %v", err)
	}
	if refused := m.sanitize(); refused != nil {
		return nil, invalidParams("invalid transaction: %s", refused.text)
	}
	if !n.ledger.valid(m.blockhash, at.height) {
		return inContext(at, nil), nil
	}
	fee, _ := m.fee()
	return inContext(at, fee), nil
}

func getTransaction(n *Node, p *params) (any, error) {
	s, err := p.text(0)
	if err != nil {
		return nil, err
	}
	sig, err := parseSignature(s)
	if err != nil {
		return nil, err
	}
	o, err := p.options(1)
	if err != nil {
		return nil, err
	}
	if o.Commitment == processed {
		return nil, invalidParams("Method does not support commitment below `confirmed`")
	}
	at, err := n.atCommitment(o.Commitment)
	if err != nil {
		return nil, err
	}
	tx := n.ledger.bySignature[sig]
	if tx == nil || tx.slot > at.slot {
		return nil, nil //nolint:nilnil // null is the documented answer for a transaction that is not there
	}
	view, err := tx.view(options{Encoding: o.Encoding, MaxVersion: o.MaxVersion})
	if err != nil {
		return nil, err
	}
	b, _ := n.ledger.find(tx.slot)
	view["slot"], view["blockTime"] = tx.slot, b.time
	return view, nil
}

// progress returns a slot's confirmations, nil once it is final, and the name of its commitment.
func (n *Node) progress(slot uint64) (confirmations *int, status string) {
	_, i := n.ledger.find(slot)
	depth := len(n.ledger.blocks) - 1 - i
	switch {
	case depth >= finalizedDepth:
		return nil, finalized
	case depth >= confirmedDepth:
		return &depth, confirmed
	default:
		return &depth, processed
	}
}

func getSignatureStatuses(n *Node, p *params) (any, error) {
	var texts []string
	if err := p.read(0, &texts); err != nil {
		return nil, err
	}
	if len(texts) > maxStatuses {
		return nil, invalidParams("Too many inputs provided; max %d", maxStatuses)
	}
	views := make([]map[string]any, len(texts))
	for i, s := range texts {
		sig, err := parseSignature(s)
		if err != nil {
			return nil, err
		}
		if tx := n.ledger.bySignature[sig]; tx != nil {
			confirmations, status := n.progress(tx.slot)
			views[i] = map[string]any{
				"slot": tx.slot, "confirmations": confirmations, "err": tx.err, "status": tx.result(),
				"confirmationStatus": status,
			}
		}
	}
	return inContext(n.ledger.tip(), views), nil
}

func getSignaturesForAddress(n *Node, p *params) (any, error) {
	k, at, o, err := keyAndView(n, p)
	if err != nil {
		return nil, err
	}
	if o.Commitment == processed {
		return nil, invalidParams("Method does not support commitment below `confirmed`")
	}
	limit := maxSignatures
	if o.Limit != nil {
		if limit = *o.Limit; limit < 1 || limit > maxSignatures {
			return nil, invalidParams("Invalid limit; max %d", maxSignatures)
		}
	}
	for _, s := range []string{o.Before, o.Until} {
		if s == "" {
			continue
		}
		if _, err := parseSignature(s); err != nil {
			return nil, err
		}
	}
	found, started := []map[string]any{}, o.Before == ""
	for _, b := range slices.Backward(n.ledger.blocks) {
		if b.slot > at.slot {
			continue
		}
		for _, tx := range slices.Backward(b.transactions) {
			name := tx.signatures[0].String()
			if name == o.Until || len(found) == limit {
				return found, nil
			}
			if started && slices.Contains(tx.keys, k) {
				_, status := n.progress(b.slot)
				found = append(found, map[string]any{
					"signature": name, "slot": b.slot, "err": tx.err, "memo": tx.memo(), "blockTime": b.time,
					"confirmationStatus": status,
				})
			}
			started = started || name == o.Before
		}
	}
	return found, nil
}
