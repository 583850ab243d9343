// Package wallet owns proof by wallet: Ethereum addresses, sign-in messages of EIP-4361, and the
// judgement whether a wallet signed (EIP-191 personal_sign; contract wallets by EIP-1271, also
// before they are deployed, by EIP-6492). It keeps nothing: nonces that work once, challenges that
// end and wallets that are bound already are its callers' business. It opens no connection either:
// what only a chain can tell is asked through a ChainCaller.
//
// A flow of challenge and proof:
//
//	m := wallet.Message{Domain: …, Address: a, URI: …, ChainID: 1, Nonce: wallet.NewNonce(), IssuedAt: wallet.TimestampOf(now), …}
//	text := m.String()                                           // what the wallet signs, kept with the challenge
//	err := wallet.VerifyMessage(ctx, caller, a, text, signature) // nil: the wallet signed it
//
// and of a message that comes from outside: Parse, Expect.Check, then VerifyMessage with the text
// as it came.
//
// A ChainCaller asks for eth_call with CallMsg.Params, reads the result with ReadResult and an
// error in its place with ReadError, and returns its own failure as it is (toolbox/node has one).
//
// Refusals are *Error, each kind by its name and in words for who signed; a chain that cannot be
// asked is ErrChainUnreachable, which is nobody's wrong signature. Refuse turns both into faults.
package wallet
