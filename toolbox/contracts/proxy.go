package contracts

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"

	"github.com/ethereum/go-ethereum/crypto"
	"github.com/holiman/uint256"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/parallel"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/toolbox/abi"
	"github.com/chainaccess/gateway/toolbox/node"
)

// Kinds of proxies in answers. Kinds that only Sourcify detects have Sourcify's names.
const (
	kindEIP1967 = "EIP-1967"
	kindBeacon  = "EIP-1967 beacon"
	kindMinimal = "EIP-1167"
	kindAccount = "EIP-7702" // an account without code of its own that runs a contract's
)

// The slots of EIP-1967: the Keccak-256 of a name minus one, so that no preimage of the slot is
// known.
var (
	implementationSlot = slotOf("eip1967.proxy.implementation")
	beaconSlot         = slotOf("eip1967.proxy.beacon")
)

func slotOf(name string) string {
	n := new(uint256.Int).SetBytes(crypto.Keccak256([]byte(name)))
	word := n.SubUint64(n, 1).Bytes32()
	return abi.Hex(word[:])
}

// implementationCall is implementation(), which asks a beacon for its implementation (EIP-1967).
var implementationCall = abi.Hex(crypto.Keccak256([]byte("implementation()"))[:4])

// state is what a chain stores about an address.
type state struct {
	code           []byte
	implementation wallet.Address // in its slot; zero for none
	beacon         wallet.Address
}

// target is what a proxy calls.
type target struct {
	kind    string
	address wallet.Address
}

// target returns the code that the address runs instead of its own. A slot of EIP-1967 wins over
// the target in a minimal proxy's code, because that target wrote the slot and calls what is in it.
// For an account (EIP-7702) the code wins, because slots may be left over from an earlier
// delegation.
func (s *state) target(ctx context.Context, r *chainReader) (target, error) {
	if to, ok := delegation(s.code); ok {
		return target{kindAccount, to}, nil
	}
	if !s.implementation.IsZero() {
		return target{kindEIP1967, s.implementation}, nil
	}
	if !s.beacon.IsZero() {
		to, err := r.implementationOf(ctx, s.beacon)
		if err != nil || !to.IsZero() {
			return target{kindBeacon, to}, err
		}
	}
	if to, ok := minimalProxy(s.code); ok {
		return target{kindMinimal, to}, nil
	}
	return target{}, nil
}

// The code of a minimal proxy around its target (EIP-1167). A shorter target is pushed by a shorter
// instruction, and the jump's destination moves by as much. Clones may append arguments.
var (
	minimalHead = unhex("363d3d373d3d3d363d")
	minimalBody = unhex("5af43d82803e903d91602b57fd5bf3")
)

const (
	push1       = 0x60
	jumpDestAt  = 10 // in minimalBody
	addressSize = len(wallet.Address{})
)

func minimalProxy(code []byte) (to wallet.Address, ok bool) {
	rest, ok := bytes.CutPrefix(code, minimalHead)
	if !ok || len(rest) == 0 {
		return to, false
	}
	n := int(rest[0]) - push1 + 1
	if n < 1 || n > addressSize || len(rest) < 1+n+len(minimalBody) {
		return to, false
	}
	body := bytes.Clone(minimalBody)
	body[jumpDestAt] -= byte(addressSize - n)
	if !bytes.HasPrefix(rest[1+n:], body) {
		return to, false
	}
	copy(to[addressSize-n:], rest[1:1+n])
	return to, !to.IsZero()
}

// delegation returns the target of the designator that EIP-7702 stores as an account's code.
func delegation(code []byte) (to wallet.Address, ok bool) {
	rest, ok := bytes.CutPrefix(code, []byte{0xef, 0x01, 0x00})
	if !ok || len(rest) != addressSize {
		return to, false
	}
	copy(to[:], rest)
	return to, !to.IsZero()
}

// chainReader reads one chain.
type chainReader struct {
	node Node
	id   chain.ID
}

// state reads code and slots of an address in parallel, all or nothing: without a slot, a proxy
// would be reported with the wrong ABI.
func (r *chainReader) state(ctx context.Context, address wallet.Address) (*state, error) {
	var s state
	g, ctx := parallel.WithContext(ctx)
	g.Go(func() (err error) {
		s.code, err = r.code(ctx, address)
		return err
	})
	for slot, to := range map[string]*wallet.Address{implementationSlot: &s.implementation, beaconSlot: &s.beacon} {
		g.Go(func() error {
			word, err := r.bytes(ctx, "eth_getStorageAt", address, slot, "latest")
			if err == nil {
				*to = addressIn(word)
			}
			return err
		})
	}
	return &s, g.Wait()
}

func (r *chainReader) code(ctx context.Context, address wallet.Address) ([]byte, error) {
	return r.bytes(ctx, "eth_getCode", address, "latest")
}

// implementationOf returns a beacon's implementation; zero if the call reverts or it is no
// contract.
func (r *chainReader) implementationOf(ctx context.Context, beacon wallet.Address) (wallet.Address, error) {
	return r.addressFrom(ctx, beacon, implementationCall)
}

// addressFrom calls a function that returns an address; zero if it reverts or returns anything
// else.
func (r *chainReader) addressFrom(ctx context.Context, of wallet.Address, data string) (wallet.Address, error) {
	word, err := r.bytes(ctx, "eth_call", map[string]any{"to": of, "data": data}, "latest")
	if e, ok := errors.AsType[*node.Error](err); ok && errors.Is(wallet.ReadError(e.Code, e.Message),
		wallet.ErrReverted) {
		return wallet.Address{}, nil
	}
	return addressIn(word), err
}

// addressIn returns the address in a word; zero if the word is no address.
func addressIn(word []byte) (a wallet.Address) {
	if len(word) > abi.WordSize {
		return a
	}
	full := make([]byte, abi.WordSize)
	copy(full[abi.WordSize-len(word):], word)
	if bytes.Equal(full[:abi.WordSize-addressSize], make([]byte, abi.WordSize-addressSize)) {
		copy(a[:], full[abi.WordSize-addressSize:])
	}
	return a
}

var errNoBytes = errors.New("the answer is no hexadecimal string")

// bytes makes a call whose result is 0x and hexadecimal digits.
func (r *chainReader) bytes(ctx context.Context, method string, params ...any) ([]byte, error) {
	result, err := r.node.Call(ctx, node.Query{Chain: r.id, Method: method, Params: params})
	if err != nil {
		if _, answer := errors.AsType[*node.Error](err); answer {
			return nil, fault.New(fault.UpstreamFailed, "").Wrap(err)
		}
		return nil, err
	}
	var text string
	if err = json.Unmarshal(result, &text); err == nil {
		digits, ok := strings.CutPrefix(text, "0x")
		if !ok {
			err = errNoBytes
		} else {
			if len(digits)%2 == 1 { // a quantity
				digits = "0" + digits
			}
			var b []byte
			if b, err = hex.DecodeString(digits); err == nil {
				return b, nil
			}
		}
	}
	return nil, fault.New(fault.UpstreamFailed, "").Wrap(err)
}

func unhex(digits string) []byte {
	b, err := hex.DecodeString(digits)
	if err != nil {
		panic(err)
	}
	return b
}
