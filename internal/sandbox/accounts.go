package sandbox

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/mr-tron/base58"

	"github.com/chainaccess/gateway/internal/sandbox/internal/devkey"
)

const (
	fundedCount  = 10
	trafficIndex = 1_000 // not a funded account, whose nonces belong to the user
	gatewayIndex = 1_001 // signs the off-chain answers of ENS (EIP-3668)
	minterIndex  = 1_002 // mints USDC
	sellerIndex  = 1_003 // receives payments per call; its balance is zero at the start
	relayerIndex = 1_005 // sends the facilitator's settlements
	faucetIndex  = 1_004 // sends the faucet's coins and USDC
)

// EVMAccount holds 10,000 native coins on every EVM chain at the start. Its key comes from the
// mnemonic that all development nodes use ("test test … junk", m/44'/60'/0'/0/n), so it is public:
// for the sandbox only.
type EVMAccount struct {
	Address common.Address
	Key     *ecdsa.PrivateKey
}

// KeyHex returns the private key in hex with 0x, as wallets and tools accept it.
func (a EVMAccount) KeyHex() string { return "0x" + hex.EncodeToString(crypto.FromECDSA(a.Key)) }

// SolanaAccount holds 1,000 SOL at the start. Its key comes from the same public mnemonic
// (m/44'/501'/n'/0').
type SolanaAccount struct {
	Address string // base58
	Key     ed25519.PrivateKey
}

type accounts struct {
	evm    []EVMAccount
	solana []SolanaAccount
}

func fundedAccounts() (accounts, error) {
	var a accounts
	for i := range uint32(fundedCount) {
		key, err := devkey.EVM(i)
		if err != nil {
			return accounts{}, fmt.Errorf("sandbox accounts: %w", err)
		}
		a.evm = append(a.evm, EVMAccount{Address: crypto.PubkeyToAddress(key.PublicKey), Key: key})
		signer, err := devkey.Solana(i)
		if err != nil {
			return accounts{}, fmt.Errorf("sandbox accounts: %w", err)
		}
		a.solana = append(a.solana, SolanaAccount{Address: base58.Encode(signer[ed25519.SeedSize:]), Key: signer})
	}
	return a, nil
}

func (a accounts) evmAddresses() []common.Address {
	all := make([]common.Address, len(a.evm))
	for i, account := range a.evm {
		all[i] = account.Address
	}
	return all
}

func (a accounts) solanaKeys() []ed25519.PrivateKey {
	all := make([]ed25519.PrivateKey, len(a.solana))
	for i, account := range a.solana {
		all[i] = account.Key
	}
	return all
}

// Accounts lists the funded accounts of the EVM chains.
func (s *Sandbox) Accounts() []EVMAccount { return slices.Clone(s.accounts.evm) }

// Minter returns the account with every role of USDC on every EVM chain: it mints, pauses,
// blacklists and assigns roles. It has 10,000 native coins. Its nonces belong to the user too.
func (s *Sandbox) Minter() EVMAccount {
	return EVMAccount{Address: crypto.PubkeyToAddress(s.keys.minter.PublicKey), Key: s.keys.minter}
}

// Seller returns the account that receives a development gateway's payments per call. Its balance
// is zero at the start.
func (s *Sandbox) Seller() EVMAccount {
	return EVMAccount{Address: crypto.PubkeyToAddress(s.keys.seller.PublicKey), Key: s.keys.seller}
}

// SolanaAccounts lists the funded accounts of the Solana node.
func (s *Sandbox) SolanaAccounts() []SolanaAccount { return slices.Clone(s.accounts.solana) }
