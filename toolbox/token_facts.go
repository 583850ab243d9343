package toolbox

import (
	"context"
	_ "embed" // the artefact of TokenFacts
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/parallel"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/toolbox/node"
)

// tokenFacts is what an ERC-20 contract says of itself; nil for what is missing or unreadable.
type tokenFacts struct {
	symbol, name *string
	decimals     *int
}

// tokenCache caches tokens' names, symbols and decimals. It asks for many tokens in one eth_call of
// a contract that is never deployed (solidity/TokenFacts.sol). It is best effort: a balance is
// worth more than a name, so any failure leaves the facts unknown.
type tokenCache struct {
	chains dataCaller
	now    func() time.Time
	known  *lru.Cache[tokenKey, rememberedFacts]
}

type tokenKey struct {
	chain    chain.ID
	contract wallet.Address
}

type rememberedFacts struct {
	tokenFacts

	until time.Time
}

// Limits of requests and of the cache. Names of tokens hardly ever change. A token without a name
// may be a proxy that gets its code later.
const (
	// in one eth_call: more would exceed the limit of a contract's code size, because the answer is
	// returned as code
	factsTogether = 100
	factsKept     = 20_000
	factsLife     = 24 * time.Hour
	noFactsLife   = time.Hour
	factsTimeout  = 3 * time.Second
	// below the limit of a transaction's gas (EIP-7825), which some nodes apply to calls
	factsGas     = 16_000_000
	factsAnswer  = 64 << 10
	symbolLength = 32
	nameLength   = 64
)

func newTokenCache(chains dataCaller, now func() time.Time) *tokenCache {
	known, err := lru.New[tokenKey, rememberedFacts](factsKept)
	if err != nil {
		panic(err) // the size is a constant
	}
	return &tokenCache{chains, now, known}
}

// of returns the facts of tokens and asks for those that are not cached; all is false if some could
// not be asked.
func (b *tokenCache) of(ctx context.Context, id chain.ID,
	contracts []wallet.Address,
) (facts map[wallet.Address]tokenFacts, all bool) {
	facts = make(map[wallet.Address]tokenFacts, len(contracts))
	var missing []wallet.Address
	for _, c := range contracts {
		if f, ok := b.known.Get(tokenKey{id, c}); ok && b.now().Before(f.until) {
			facts[c] = f.tokenFacts
		} else {
			missing = append(missing, c)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, factsTimeout)
	defer cancel()
	var group parallel.Group
	var mu sync.Mutex // guards facts
	for begin := 0; begin < len(missing); begin += factsTogether {
		some := missing[begin:min(begin+factsTogether, len(missing))]
		group.Go(func() error {
			read, err := b.read(ctx, id, some)
			mu.Lock()
			defer mu.Unlock()
			maps.Copy(facts, read)
			return err
		})
	}
	return facts, group.Wait() == nil && len(facts) == len(contracts)
}

// read asks for the facts of some tokens, and caches them.
func (b *tokenCache) read(ctx context.Context, id chain.ID,
	contracts []wallet.Address,
) (map[wallet.Address]tokenFacts, error) {
	code, err := factsReader.with(contracts)
	if err != nil {
		return nil, err
	}
	var answer hexutil.Bytes
	call := map[string]any{"data": hexutil.Bytes(code), "gas": hexutil.Uint64(factsGas)}
	if err := askAny(ctx, b.chains, &answer, node.Query{
		Chain: id, Method: "eth_call", Params: []any{call, "latest"}, MaxAnswer: factsAnswer,
	}); err != nil {
		return nil, err
	}
	read, err := readFacts(answer, contracts)
	for c, f := range read {
		life := factsLife
		if f.decimals == nil && f.symbol == nil {
			life = noFactsLife
		}
		b.known.Add(tokenKey{id, c}, rememberedFacts{f, b.now().Add(life)})
	}
	return read, err
}

// The first byte of TokenFacts' answer, and of each record in it.
const (
	factsVersion    = 1
	notAsked        = 0
	withoutDecimals = 1
	withDecimals    = 2
)

var errFacts = errors.New("the answer is not TokenFacts'")

// readFacts decodes the answer of TokenFacts. It skips tokens that were not asked.
func readFacts(answer []byte, contracts []wallet.Address) (map[wallet.Address]tokenFacts, error) {
	r := factsCursor{rest: answer}
	if r.byte() != factsVersion {
		return nil, errFacts
	}
	facts := make(map[wallet.Address]tokenFacts, len(contracts))
	for _, c := range contracts {
		kind := r.byte()
		if kind == notAsked && !r.short {
			continue
		}
		decimals, symbol, name := int(r.byte()), r.text(), r.text()
		if r.short || (kind != withDecimals && kind != withoutDecimals) {
			return nil, errFacts
		}
		f := tokenFacts{symbol: label(symbol, symbolLength), name: label(name, nameLength)}
		if kind == withDecimals {
			f.decimals = &decimals
		}
		facts[c] = f
	}
	if len(r.rest) > 0 {
		return nil, errFacts
	}
	return facts, nil
}

// factsCursor reads bytes in order; short is set when there were too few.
type factsCursor struct {
	rest  []byte
	short bool
}

func (r *factsCursor) take(n int) []byte {
	if r.short = r.short || n > len(r.rest); r.short {
		return make([]byte, n)
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *factsCursor) byte() byte { return r.take(1)[0] }

// text reads a length and as many bytes. Trailing zeros are the padding of a bytes32. Leading zeros
// mean a number, which is no text.
func (r *factsCursor) text() string {
	text := string(r.take(int(r.byte())))
	if strings.HasPrefix(text, "\x00") {
		return ""
	}
	return strings.TrimRight(text, "\x00")
}

//go:embed solidity/TokenFacts.json
var factsArtefact []byte

var factsReader = mustReadFactsReader(factsArtefact)

// undeployed is a contract whose constructor returns the answer.
type undeployed struct {
	code      []byte
	arguments abi.Arguments
}

func mustReadFactsReader(text []byte) undeployed {
	var file struct {
		ABI      abi.ABI       `json:"abi"`
		Bytecode hexutil.Bytes `json:"bytecode"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		panic(fmt.Sprintf("the embedded TokenFacts: %v", err))
	}
	return undeployed{file.Bytecode, file.ABI.Constructor.Inputs}
}

// with returns the code that asks for these tokens when eth_call runs it.
func (u undeployed) with(contracts []wallet.Address) ([]byte, error) {
	list := make([]common.Address, len(contracts))
	for i, c := range contracts {
		list[i] = common.Address(c)
	}
	arguments, err := u.arguments.Pack(list)
	if err != nil {
		return nil, fmt.Errorf("encode the arguments of TokenFacts: %w", err)
	}
	return slices.Concat(u.code, arguments), nil
}
