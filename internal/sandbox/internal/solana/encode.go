package solana

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/mr-tron/base58"
)

// view returns the documented transaction object in the requested encoding: transaction, meta and
// version.
func (tx *executed) view(o options) (map[string]any, error) {
	view := map[string]any{"meta": tx.meta()}
	if o.MaxVersion != nil {
		view["version"] = tx.versionName()
	} else if tx.version != legacyVersion {
		return nil, unsupportedVersion(tx.version)
	}
	if tx.version > legacyVersion && o.MaxVersion != nil && tx.version > *o.MaxVersion {
		return nil, unsupportedVersion(tx.version)
	}
	if o.TransactionPart == "accounts" {
		view["transaction"] = map[string]any{"signatures": tx.signatures, "accountKeys": tx.parsedKeys()}
		return view, nil
	}
	switch o.Encoding {
	case "", "json":
		view["transaction"] = map[string]any{"signatures": tx.signatures, "message": tx.json()}
	case "jsonParsed":
		view["transaction"] = map[string]any{"signatures": tx.signatures, "message": tx.jsonParsed()}
	case "base64":
		view["transaction"] = []string{base64.StdEncoding.EncodeToString(tx.raw), "base64"}
	case "base58":
		view["transaction"] = []string{base58.Encode(tx.raw), "base58"}
	case "binary":
		view["transaction"] = base58.Encode(tx.raw)
	default:
		return nil, invalidParams(
			"Invalid params: unknown variant `%s`, expected one of `binary`, `base64`, `base58`, `json`, `jsonParsed`.",
			o.Encoding)
	}
	return view, nil
}

func (m *message) versionName() any {
	if m.version == legacyVersion {
		return "legacy"
	}
	return m.version
}

// result returns the outcome in the older form of err.
func (o *outcome) result() map[string]any {
	if o.err != nil {
		return map[string]any{"Err": o.err}
	}
	return map[string]any{"Ok": nil}
}

func (tx *executed) meta() map[string]any {
	logs := tx.logs
	if logs == nil {
		logs = []string{}
	}
	return map[string]any{
		"err": tx.err, "status": tx.result(), "fee": tx.fee, "preBalances": tx.pre, "postBalances": tx.post,
		"innerInstructions": []any{}, "logMessages": logs, "preTokenBalances": []any{}, "postTokenBalances": []any{},
		"rewards": nil, "loadedAddresses": map[string]any{"writable": []key{}, "readonly": []key{}},
		"computeUnitsConsumed": tx.units, "costUnits": tx.units + 1_000,
	}
}

func (m *message) json() map[string]any {
	instructions := make([]map[string]any, len(m.instructions))
	for i, in := range m.instructions {
		instructions[i] = map[string]any{
			"programIdIndex": in.program, "accounts": indexes(in.accounts), "data": base58.Encode(in.data),
			"stackHeight": 1,
		}
	}
	view := map[string]any{
		"header": map[string]int{
			"numRequiredSignatures": m.required, "numReadonlySignedAccounts": m.readonlySigned,
			"numReadonlyUnsignedAccounts": m.readonlyUnsigned,
		},
		"accountKeys": m.keys, "recentBlockhash": m.blockhash, "instructions": instructions,
	}
	if m.version != legacyVersion {
		view["addressTableLookups"] = []any{}
	}
	return view
}

// indexes converts bytes to ints, because encoding/json encodes []byte as base64.
func indexes(bytes []byte) []int {
	all := make([]int, len(bytes))
	for i, b := range bytes {
		all[i] = int(b)
	}
	return all
}

func (m *message) parsedKeys() []map[string]any {
	all := make([]map[string]any, len(m.keys))
	for i, k := range m.keys {
		all[i] = map[string]any{
			"pubkey": k, "signer": m.isSigner(i), "writable": m.isWritable(i), "source": "transaction",
		}
	}
	return all
}

func (m *message) jsonParsed() map[string]any {
	instructions := make([]map[string]any, len(m.instructions))
	for i, in := range m.instructions {
		instructions[i] = m.parseInstruction(in)
	}
	view := map[string]any{"accountKeys": m.parsedKeys(), "recentBlockhash": m.blockhash, "instructions": instructions}
	if m.version != legacyVersion {
		view["addressTableLookups"] = []any{}
	}
	return view
}

func (m *message) parseInstruction(in instruction) map[string]any {
	program := m.keys[in.program]
	switch {
	case program == systemProgram && len(in.data) >= 12 && in.data[0] == 2 && len(in.accounts) >= 2:
		return map[string]any{
			"program": "system", "programId": program, "stackHeight": 1,
			"parsed": map[string]any{"type": "transfer", "info": map[string]any{
				"source": m.keys[in.accounts[0]], "destination": m.keys[in.accounts[1]],
				"lamports": binary.LittleEndian.Uint64(in.data[4:]),
			}},
		}
	case program == memoProgram || program == memoProgramV1:
		return map[string]any{
			"program": "spl-memo", "programId": program, "parsed": strings.ToValidUTF8(string(in.data), "\uFFFD"),
			"stackHeight": 1,
		}
	}
	accounts := make([]key, len(in.accounts))
	for i, a := range in.accounts {
		accounts[i] = m.keys[a]
	}
	return map[string]any{"programId": program, "accounts": accounts, "data": base58.Encode(in.data), "stackHeight": 1}
}

// memo joins the transaction's memos as getSignaturesForAddress shows them; nil when there are
// none.
func (m *message) memo() any {
	var all []string
	for _, in := range m.instructions {
		if p := m.keys[in.program]; p == memoProgram || p == memoProgramV1 {
			all = append(all, fmt.Sprintf("[%d] %s", len(in.data), strings.ToValidUTF8(string(in.data), "\uFFFD")))
		}
	}
	if all == nil {
		return nil
	}
	return strings.Join(all, "; ")
}
