package sourcify

import (
	"net/http"
	"slices"
	"strings"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/chainaccess/gateway/internal/sandbox/contracts"
)

// candidate is a signature as the database shows it. Filtered marks one that was made up to match a
// hash.
type candidate struct {
	Name     string `json:"name"`
	Filtered bool   `json:"filtered"`
	Verified bool   `json:"hasVerifiedContract"`
}

// signatures are candidates by hash: four bytes for functions and errors, 32 for events.
type signatures struct {
	functions, events map[string][]candidate
}

// foreign are signatures of no contract in the sandbox: functions of common contracts, and some
// that collide with another function's four bytes.
var foreign = []candidate{
	{Name: "deposit()"},
	{Name: "withdraw(uint256)"},
	{Name: "safeTransferFrom(address,address,uint256)"},
	{Name: "execute(bytes,bytes[],uint256)"},
	{Name: "swapExactTokensForTokens(uint256,uint256,address[],address,uint256)"},
	{Name: "collate_propagate_storage(bytes16)"},                   // burn(uint256)
	{Name: "many_msg_babbage(bytes1)", Filtered: true},             // transfer(address,uint256)
	{Name: "sign_szabo_bytecode(bytes16,uint128)", Filtered: true}, // approve(address,uint256)
}

// collect returns the signatures of all contracts in the sandbox.
func collect() (signatures, error) {
	s := signatures{functions: map[string][]candidate{}, events: map[string][]candidate{}}
	all, err := contracts.All()
	if err != nil {
		return s, err
	}
	for _, c := range all {
		for kind, names := range signaturesOf(c) {
			for _, each := range names {
				s.add(kind == "event", candidate{Name: each["signature"], Verified: true})
			}
		}
	}
	for _, c := range foreign {
		s.add(false, c)
	}
	for _, list := range []map[string][]candidate{s.functions, s.events} {
		for _, found := range list {
			slices.SortFunc(found, func(a, b candidate) int { return strings.Compare(a.Name, b.Name) })
		}
	}
	return s, nil
}

func (s signatures) add(event bool, c candidate) {
	hash := crypto.Keccak256([]byte(c.Name))
	list, key := s.functions, hexutil.Encode(hash[:4])
	if event {
		list, key = s.events, hexutil.Encode(hash)
	}
	if !slices.ContainsFunc(list[key], func(known candidate) bool { return known.Name == c.Name }) {
		list[key] = append(list[key], c)
	}
}

// signaturesOf returns Sourcify's field of that name.
func signaturesOf(c contracts.Contract) map[string][]map[string]string {
	all := map[string][]map[string]string{"function": {}, "event": {}, "error": {}}
	add := func(kind, signature string) {
		hash := hexutil.Encode(crypto.Keccak256([]byte(signature)))
		all[kind] = append(all[kind], map[string]string{
			"signature": signature, "signatureHash32": hash, "signatureHash4": hash[:10],
		})
	}
	for _, method := range c.ABI.Methods {
		add("function", method.Sig)
	}
	for _, event := range c.ABI.Events {
		add("event", event.Sig)
	}
	for _, e := range c.ABI.Errors {
		add("error", e.Sig)
	}
	for _, list := range all {
		slices.SortFunc(list, func(a, b map[string]string) int {
			return strings.Compare(a["signature"], b["signature"])
		})
	}
	return all
}

// lookup returns null for unknown functions and an empty list for unknown events, like the service
// that Sourcify took over.
func (s signatures) lookup(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	found := map[string]map[string]any{"function": {}, "event": {}}
	for _, kind := range []struct {
		name   string
		length int
		known  map[string][]candidate
		none   any
	}{{"function", 10, s.functions, nil}, {"event", 66, s.events, []candidate{}}} {
		for hash := range strings.SplitSeq(query.Get(kind.name), ",") {
			if hash == "" {
				continue
			}
			hash = strings.ToLower(hash)
			if _, err := hexutil.Decode(hash); err != nil || len(hash) != kind.length {
				answer(w, http.StatusBadRequest, map[string]any{
					"ok": false, "error": "Invalid " + kind.name + " hash: " + hash,
				})
				return
			}
			found[kind.name][hash] = kind.none
			if list := shown(kind.known[hash], query.Get("filter") != "false"); len(list) > 0 {
				found[kind.name][hash] = list
			}
		}
	}
	answer(w, http.StatusOK, map[string]any{"ok": true, "result": found})
}

func shown(list []candidate, filter bool) []candidate {
	return slices.DeleteFunc(slices.Clone(list), func(c candidate) bool { return filter && c.Filtered })
}
