package ens

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/toolbox/node"
)

// universalResolver is ENS' entry point on Ethereum, a proxy with a permanent address
// (docs.ens.domains/resolvers/universal).
var universalResolver = wallet.Address{
	0xee, 0xee, 0xee, 0xee, 0x14, 0xd7, 0x18, 0xc2, 0xb4, 0x7d, 0x99, 0x23, 0xde, 0xab, 0x13, 0x35, 0xe1, 0x44,
	0xee, 0xee,
}

const (
	coinEther = 60        // SLIP-44
	maxCall   = 512 << 10 // bytes of the chain's answer, as JSON
)

// selector is the first four bytes of the hash of a function's or an error's signature.
type selector [4]byte

func (s selector) String() string { return "0x" + hex.EncodeToString(s[:]) }

func selectorOf(signature string) (s selector) {
	copy(s[:], crypto.Keccak256([]byte(signature)))
	return s
}

// Calls of the Universal Resolver and of resolvers (ENSIP-1, ENSIP-9, ENSIP-3).
var (
	callResolve    = selectorOf("resolve(bytes,bytes)")
	callReverse    = selectorOf("reverse(bytes,uint256)")
	callAddr       = selectorOf("addr(bytes32)")
	callAddrOfCoin = selectorOf("addr(bytes32,uint256)")
	callName       = selectorOf("name(bytes32)")
)

// Errors of the Universal Resolver (IUniversalResolver and its base contracts, in
// ensdomains/ens-contracts).
var (
	failNotFound     = selectorOf("ResolverNotFound(bytes)")
	failNotContract  = selectorOf("ResolverNotContract(bytes,address)")
	failUnsupported  = selectorOf("UnsupportedResolverProfile(bytes4)")
	failResolver     = selectorOf("ResolverError(bytes)")
	failMismatch     = selectorOf("ReverseAddressMismatch(string,bytes)")
	failHTTP         = selectorOf("HttpError(uint16,string)")
	failDNSEncoding  = selectorOf("DNSEncodingFailed(string)")
	failText         = selectorOf("Error(string)") // within a batch: a gateway without an HTTP answer
	failBatchAnswer  = selectorOf("InvalidBatchGatewayResponse()")
	failLookOffchain = selectorOf("OffchainLookup(address,string[],bytes,bytes4,bytes)")
)

// revert is a call that reverted, with the contract's error; the zero selector means none.
type revert struct {
	selector selector
	args     encoded
}

func (r *revert) Error() string { return "the Universal Resolver reverted with " + r.selector.String() }

// asRevert returns the revert in err, or nil.
func asRevert(err error) *revert {
	r, _ := errors.AsType[*revert](err)
	return r
}

// call appends arguments to a function's selector.
func call(function selector, args ...value) []byte { return append(function[:], encode(args...)...) }

// resolve sends a question to the resolver of a name and returns its ABI-encoded answer, nil if it
// cannot be read. The error is a *revert, or the service's failure.
func (s *session) resolve(ctx context.Context, name string, question []byte) ([]byte, error) {
	out, err := s.read(ctx, call(callResolve, blob(dnsEncode(name)), blob(question)))
	if err != nil {
		return nil, err
	}
	answer, _ := encoded(out).bytes(0)
	return answer, nil
}

// claimed returns the primary name of an address that the Universal Resolver confirmed; empty if
// there is none.
func (s *session) claimed(ctx context.Context, address wallet.Address) (string, error) {
	out, err := s.read(ctx, call(callReverse, blob(address[:]), number(coinEther)))
	if err != nil {
		return "", err
	}
	name, ok := encoded(out).bytes(0)
	if !ok {
		return "", fault.New(fault.UpstreamFailed, "").Wrap(errors.New("the answer of reverse() cannot be read"))
	}
	return string(name), nil
}

// ethCall calls the Universal Resolver at the newest block.
func (n *Names) ethCall(ctx context.Context, data []byte) ([]byte, error) {
	type message struct {
		To   wallet.Address `json:"to"`
		Data hexutil.Bytes  `json:"data"`
	}
	raw, err := n.chain.Call(ctx, node.Query{
		Chain: chain.EthMainnet, Method: "eth_call", Params: []any{message{universalResolver, data}, "latest"},
		MaxAnswer: maxCall,
	})
	if inBand, ok := errors.AsType[*node.Error](err); ok {
		return nil, readRevert(inBand)
	}
	if err != nil {
		return nil, err
	}
	var out hexutil.Bytes
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, fault.New(fault.UpstreamFailed, "").Wrap(fmt.Errorf("result of eth_call: %w", err))
	}
	if len(out) == 0 { // a call to an address without code succeeds with an empty result
		return nil, fault.New(fault.UpstreamFailed,
			"No Universal Resolver of ENS answers at %s on eth_mainnet. Nothing was charged.", universalResolver)
	}
	return out, nil
}

// readRevert returns the revert in a node's error. Any other error of the node is no answer, so it
// is the service's failure.
func readRevert(e *node.Error) error {
	text, ok := revertText(e.Data)
	if ok {
		text = strings.TrimPrefix(text, "Reverted ") // the prefix of some nodes
		if data, err := hexutil.Decode(text); err == nil && len(data) >= len(selector{}) {
			return &revert{selector(data[:4]), data[4:]}
		}
	}
	if errors.Is(wallet.ReadError(e.Code, e.Message), wallet.ErrReverted) {
		return &revert{}
	}
	return fault.New(fault.UpstreamFailed, "").Wrap(e)
}

// revertText returns the data of an error, which nodes send as a string or in an object.
func revertText(data json.RawMessage) (text string, ok bool) {
	if json.Unmarshal(data, &text) == nil {
		return text, true
	}
	var object struct {
		Data string `json:"data"`
	}
	err := json.Unmarshal(data, &object)
	return object.Data, err == nil
}

// dnsEncode encodes a name for DNS (ENSIP-10): each label after its length, and an empty one at the
// end. The name must come from Normalize, so that a length fits its byte.
func dnsEncode(name string) []byte {
	var b bytes.Buffer
	for label := range strings.SplitSeq(name, ".") {
		b.WriteByte(byte(len(label))) //nolint:gosec // at most 254
		b.WriteString(label)
	}
	b.WriteByte(0)
	return b.Bytes()
}

// dnsDecode decodes what dnsEncode and the Universal Resolver produce.
func dnsDecode(b []byte) (string, bool) {
	var labels []string
	for len(b) > 0 && b[0] != 0 {
		n := int(b[0])
		if n >= len(b) {
			return "", false
		}
		labels = append(labels, string(b[1:1+n]))
		b = b[1+n:]
	}
	return strings.Join(labels, "."), len(b) == 1 && len(labels) > 0
}

// namehash returns the node of a name (ENSIP-1).
func namehash(name string) (node [32]byte) {
	for name != "" {
		label := name[strings.LastIndexByte(name, '.')+1:]
		name = strings.TrimSuffix(strings.TrimSuffix(name, label), ".")
		copy(node[:], crypto.Keccak256(node[:], crypto.Keccak256([]byte(label))))
	}
	return node
}
