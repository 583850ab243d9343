// Package wallet verifies that a wallet signed: Ethereum addresses, sign-in messages of EIP-4361,
// and signatures (EIP-191 personal_sign; contract wallets by EIP-1271, and by EIP-6492 before they
// are deployed). It stores nothing: its callers enforce one-time nonces, expired challenges and
// wallets that are bound already. It opens no connection: it reads from the chain through a
// ChainCaller.
//
// A challenge and its proof:
//
//	m := wallet.Message{Domain: …, Address: a, URI: …, ChainID: 1, Nonce: wallet.NewNonce(), IssuedAt: wallet.TimestampOf(now), …}
//	text := m.String()                                           // what the wallet signs, kept with the challenge
//	err := wallet.VerifyMessage(ctx, caller, a, text, signature) // nil: the wallet signed it
//
// For a message from outside: Parse, Expect.Check, then VerifyMessage with the text as received.
//
// A ChainCaller sends eth_call with CallMsg.Params, decodes the result with ReadResult and an error
// with ReadError, and returns its own failures unchanged (toolbox/node has one).
//
// Refusals are *Error, each kind with its own name and a message for the signer. When the chain
// cannot be reached the error is ErrChainUnreachable, which says nothing about the signature.
// Refuse converts both to faults.
package wallet
