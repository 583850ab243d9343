package solana

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"slices"

	"github.com/mr-tron/base58"
)

// accountView is the documented account object.
type accountView struct {
	Data       any    `json:"data"`
	Executable bool   `json:"executable"`
	Lamports   uint64 `json:"lamports"`
	Owner      key    `json:"owner"`
	RentEpoch  uint64 `json:"rentEpoch"`
	Space      int    `json:"space"`
}

const maxBase58Data = 128

func (n *Node) viewAccount(k key, at *block, o options) (*accountView, error) {
	a, ok := n.ledger.at(k, at.slot)
	if !ok {
		return nil, nil //nolint:nilnil // null is the documented answer for an account that does not exist
	}
	v := &accountView{
		Executable: a.executable, Lamports: a.lamports, Owner: a.owner, RentEpoch: rentExemptEver, Space: len(a.data),
	}
	data := a.data
	if s := o.DataSlice; s != nil && o.Encoding != "jsonParsed" {
		from := min(max(s.Offset, 0), len(data))
		data = data[from:min(from+max(s.Length, 0), len(data))]
	}
	switch o.Encoding {
	case "", "binary", "base58":
		if len(data) > maxBase58Data {
			return nil, &rpcError{
				Code:    -32600,
				Message: "Encoded binary (base 58) data should be less than 128 bytes, please use Base64 encoding.",
			}
		}
		if v.Data = base58.Encode(data); o.Encoding == "base58" {
			v.Data = []string{base58.Encode(data), "base58"}
		}
	case "base64":
		v.Data = []string{base64.StdEncoding.EncodeToString(data), "base64"}
	case "base64+zstd":
		v.Data = []string{base64.StdEncoding.EncodeToString(zstdFrame(data)), "base64+zstd"}
	case "jsonParsed":
		if p := n.ledger.parsed(a, at.slot); p != nil {
			v.Data = p
		} else {
			v.Data = []string{base64.StdEncoding.EncodeToString(data), "base64"}
		}
	default:
		return nil, invalidParams(
			"Invalid params: unknown variant `%s`, expected one of `binary`, `base58`, `base64`, `base64+zstd`, "+
				"`jsonParsed`.", o.Encoding)
	}
	return v, nil
}

// zstdFrame wraps data in a Zstandard frame with one uncompressed block (RFC 8878): account data
// here is small.
func zstdFrame(data []byte) []byte {
	frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0xa0} // magic; one segment, content size in four bytes
	size := uint32(len(data))                     //nolint:gosec // accounts hold kilobytes
	frame = binary.LittleEndian.AppendUint32(frame, size)
	header := size<<3 | 1 // last block, raw
	return append(append(frame, byte(header), byte(header>>8), byte(header>>16)), data...)
}

func getBalance(n *Node, p *params) (any, error) {
	k, at, _, err := keyAndView(n, p)
	if err != nil {
		return nil, err
	}
	a, _ := n.ledger.at(k, at.slot)
	return inContext(at, a.lamports), nil
}

func getAccountInfo(n *Node, p *params) (any, error) {
	k, at, o, err := keyAndView(n, p)
	if err != nil {
		return nil, err
	}
	v, err := n.viewAccount(k, at, o)
	if err != nil {
		return nil, err
	}
	return inContext(at, v), nil
}

func keyAndView(n *Node, p *params) (k key, at *block, o options, err error) {
	if k, err = p.key(0); err != nil {
		return k, nil, o, err
	}
	if o, err = p.options(1); err != nil {
		return k, nil, o, err
	}
	at, err = n.view(o)
	return k, at, o, err
}

func getMultipleAccounts(n *Node, p *params) (any, error) {
	keys, err := p.keys(0, 100)
	if err != nil {
		return nil, err
	}
	o, err := p.options(1)
	if err != nil {
		return nil, err
	}
	at, err := n.view(o)
	if err != nil {
		return nil, err
	}
	if o.Encoding == "" {
		o.Encoding = "base64"
	}
	views := make([]*accountView, len(keys))
	for i, k := range keys {
		if views[i], err = n.viewAccount(k, at, o); err != nil {
			return nil, err
		}
	}
	return inContext(at, views), nil
}

func getMinimumBalanceForRentExemption(_ *Node, p *params) (any, error) {
	size, err := p.slot(0)
	if err != nil {
		return nil, err
	}
	const largest = 10 << 20
	return rentExempt(int(min(size, largest))), nil //nolint:gosec // bounded
}

type balance struct {
	Address  key    `json:"address"`
	Lamports uint64 `json:"lamports"`
}

func (n *Node) holders(at *block) (all []balance, total uint64) {
	for _, k := range n.ledger.addresses() {
		if a, ok := n.ledger.at(k, at.slot); ok {
			all = append(all, balance{k, a.lamports})
			total += a.lamports
		}
	}
	return all, total
}

func getLargestAccounts(n *Node, p *params) (any, error) {
	at, _, err := viewAt(n, p, 0)
	if err != nil {
		return nil, err
	}
	all, _ := n.holders(at)
	slices.SortStableFunc(all, func(a, b balance) int { return cmp.Compare(b.Lamports, a.Lamports) })
	return inContext(at, all[:min(20, len(all))]), nil
}

func getSupply(n *Node, p *params) (any, error) {
	at, _, err := viewAt(n, p, 0)
	if err != nil {
		return nil, err
	}
	_, total := n.holders(at)
	return inContext(at, map[string]any{
		"total": total, "circulating": total, "nonCirculating": 0, "nonCirculatingAccounts": []key{},
	}), nil
}

// viewAt parses the options at i and returns the block for their commitment.
func viewAt(n *Node, p *params, i int) (*block, options, error) {
	o, err := p.options(i)
	if err != nil {
		return nil, o, err
	}
	at, err := n.view(o)
	return at, o, err
}

func getTokenAccountBalance(n *Node, p *params) (any, error) {
	k, at, _, err := keyAndView(n, p)
	if err != nil {
		return nil, err
	}
	a, ok := n.ledger.at(k, at.slot)
	if !ok {
		return nil, invalidParams("Invalid param: could not find account")
	}
	t, ok := a.token()
	if !ok {
		return nil, invalidParams("Invalid param: not a Token account")
	}
	m, _ := n.ledger.at(t.mint, at.slot)
	_, decimals, _ := m.mint()
	return inContext(at, newTokenAmount(t.amount, decimals)), nil
}

func (n *Node) mintAt(k key, at *block) (supply uint64, decimals int, err error) {
	a, ok := n.ledger.at(k, at.slot)
	if !ok {
		return 0, 0, invalidParams("Invalid param: could not find mint")
	}
	if supply, decimals, ok = a.mint(); !ok {
		return 0, 0, invalidParams("Invalid param: not a Token mint")
	}
	return supply, decimals, nil
}

func getTokenSupply(n *Node, p *params) (any, error) {
	k, at, _, err := keyAndView(n, p)
	if err != nil {
		return nil, err
	}
	supply, decimals, err := n.mintAt(k, at)
	if err != nil {
		return nil, err
	}
	return inContext(at, newTokenAmount(supply, decimals)), nil
}

func getTokenLargestAccounts(n *Node, p *params) (any, error) {
	k, at, _, err := keyAndView(n, p)
	if err != nil {
		return nil, err
	}
	_, decimals, err := n.mintAt(k, at)
	if err != nil {
		return nil, err
	}
	type holding struct {
		Address key `json:"address"`
		tokenAmount
		raw uint64
	}
	all := []holding{}
	for _, address := range n.ledger.addresses() {
		a, _ := n.ledger.at(address, at.slot)
		if t, ok := a.token(); ok && t.mint == k {
			all = append(all, holding{address, newTokenAmount(t.amount, decimals), t.amount})
		}
	}
	slices.SortStableFunc(all, func(a, b holding) int { return cmp.Compare(b.raw, a.raw) })
	return inContext(at, all[:min(20, len(all))]), nil
}

// keyed is an account with its address.
type keyed struct {
	Pubkey  key          `json:"pubkey"`
	Account *accountView `json:"account"`
}

func getTokenAccountsByOwner(n *Node, p *params) (any, error) {
	return n.tokenAccounts(p, func(t token, k key) bool { return t.owner == k })
}

// getTokenAccountsByDelegate returns an empty list, because no token account of the sandbox has a
// delegate.
func getTokenAccountsByDelegate(n *Node, p *params) (any, error) {
	return n.tokenAccounts(p, func(token, key) bool { return false })
}

func (n *Node) tokenAccounts(p *params, matches func(token, key) bool) (any, error) {
	k, err := p.key(0)
	if err != nil {
		return nil, err
	}
	var filter struct {
		Mint    string `json:"mint"`
		Program string `json:"programId"`
	}
	if err := p.read(1, &filter); err != nil {
		return nil, err
	}
	at, o, err := viewAt(n, p, 2)
	if err != nil {
		return nil, err
	}
	wantedKey, err := parseKey(cmp.Or(filter.Mint, filter.Program))
	if err != nil {
		return nil, err
	}
	if filter.Mint != "" {
		if _, _, err := n.mintAt(wantedKey, at); err != nil {
			return nil, err
		}
	} else if tokenPrograms[wantedKey] == "" {
		return nil, invalidParams("Invalid param: unrecognized Token program id")
	}
	found := []keyed{}
	for _, address := range n.ledger.addresses() {
		a, _ := n.ledger.at(address, at.slot)
		t, ok := a.token()
		if !ok || !matches(t, k) || (filter.Mint != "" && t.mint != wantedKey) ||
			(filter.Mint == "" && a.owner != wantedKey) {
			continue
		}
		v, err := n.viewAccount(address, at, o)
		if err != nil {
			return nil, err
		}
		found = append(found, keyed{address, v})
	}
	return inContext(at, found), nil
}
