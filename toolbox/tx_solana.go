package toolbox

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/toolbox/node"
)

// signatureStatuses is the answer of getSignatureStatuses; an entry is null for an unknown
// signature.
type signatureStatuses struct {
	Value []*signatureStatus `json:"value"`
}

type signatureStatus struct {
	Slot               uint64          `json:"slot"`
	Confirmations      *uint64         `json:"confirmations"` // null once the slot is rooted
	Err                json.RawMessage `json:"err"`
	ConfirmationStatus *string         `json:"confirmationStatus"` // missing in answers of old nodes
}

// The commitments of Solana.
const (
	commitmentProcessed = "processed"
	commitmentConfirmed = "confirmed"
	commitmentFinalized = "finalized"
)

const maxTxError = 200 // characters

var errStatuses = errors.New("it does not hold one status")

// solana reads the status of a signature, including the ledger's history. A slot that is only
// processed may still be dropped by the cluster, with its transactions: they are pending.
func (t *TxTracker) solana(ctx context.Context, id chain.ID, signature string) (TxStatus, error) {
	var answer signatureStatuses
	q := node.Query{
		Chain: id, Method: "getSignatureStatuses", Params: []any{
			[]string{signature}, map[string]bool{"searchTransactionHistory": true},
		},
		Empty: holdsNoStatus,
	}
	if err := askFor(ctx, t.chains, &answer, q); err != nil {
		return TxStatus{}, err
	}
	if len(answer.Value) != 1 {
		return TxStatus{}, unusable(id, q.Method, errStatuses)
	}
	got := answer.Value[0]
	if got == nil {
		return TxStatus{
			Status: TxUnknown,
			Note: "No upstream that was asked knows this signature now. Until its blockhash has expired, after about " +
				"a minute and a half, the transaction may still land: do not sign another one before.",
		}, nil
	}
	s := TxStatus{Slot: &got.Slot, ConfirmationStatus: got.commitment(), Error: failureText(got.Err)}
	switch {
	case s.ConfirmationStatus == commitmentProcessed:
		s.Status, s.Note = TxPending,
			"Its slot is processed and not voted for yet: what it did may still be undone. Ask again."
	case s.Error != "":
		s.Status = TxFailed
	default:
		s.Status = TxConfirmed
	}
	return s, nil
}

// commitment returns the commitment of the slot. A node that does not name it omits the
// confirmations once the slot is finalized.
func (s *signatureStatus) commitment() string {
	if s.ConfirmationStatus != nil {
		switch *s.ConfirmationStatus {
		case commitmentConfirmed, commitmentFinalized:
			return *s.ConfirmationStatus
		}
		return commitmentProcessed
	}
	if s.Confirmations == nil {
		return commitmentFinalized
	}
	return commitmentProcessed
}

// failureText returns the cluster's error in its own form: a word, or an object that names the
// instruction. It is empty without an error.
func failureText(err json.RawMessage) string {
	if len(err) == 0 || isNull(err) {
		return ""
	}
	text := string(err)
	var word string
	if json.Unmarshal(err, &word) == nil {
		text = word
	}
	if text == "" {
		text = "failed"
	}
	if runes := []rune(text); len(runes) > maxTxError {
		text = string(runes[:maxTxError-1]) + "…"
	}
	return text
}

// holdsNoStatus reports whether a node does not know the signature.
func holdsNoStatus(result []byte) bool {
	var answer signatureStatuses
	return json.Unmarshal(result, &answer) == nil && len(answer.Value) == 1 && answer.Value[0] == nil
}
