package chain_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/crypto/kzg4844"
	"github.com/holiman/uint256"
	"github.com/mr-tron/base58"

	"github.com/chainaccess/gateway/relay/chain"
)

// signed returns a signed transaction with its network encoding; that of a blob transaction
// includes the blobs.
func signed(t *testing.T, key *ecdsa.PrivateKey, data types.TxData) (*types.Transaction, []byte) {
	t.Helper()
	tx, err := types.SignNewTx(key, types.LatestSignerForChainID(big.NewInt(1)), data)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return tx, raw
}

func blobTx(sidecar *types.BlobTxSidecar) *types.BlobTx {
	tx := &types.BlobTx{
		ChainID: uint256.NewInt(1), Nonce: 5, GasTipCap: uint256.NewInt(1), GasFeeCap: uint256.NewInt(9), Gas: 21_000,
		To: common.HexToAddress("0xb0b"), Value: uint256.NewInt(3), BlobFeeCap: uint256.NewInt(7), Sidecar: sidecar,
	}
	if sidecar == nil {
		tx.BlobHashes = []common.Hash{{1, 2, 3}}
	} else {
		tx.BlobHashes = sidecar.BlobHashes()
	}
	return tx
}

// sidecars returns one sidecar of each version: with a proof per blob (EIP-4844), and with a proof
// per cell (EIP-7594). The proofs are not checked here, so the content is arbitrary.
func sidecars() map[string]*types.BlobTxSidecar {
	blobs := []kzg4844.Blob{{0: 1}, {1: 2}}
	commitments := []kzg4844.Commitment{{0: 0xc0}, {0: 0xc1}}
	return map[string]*types.BlobTxSidecar{
		"proofs of blobs": types.NewBlobTxSidecar(types.BlobSidecarVersion0, blobs, commitments,
			make([]kzg4844.Proof, len(blobs))),
		"proofs of cells": types.NewBlobTxSidecar(types.BlobSidecarVersion1, blobs, commitments,
			make([]kzg4844.Proof, len(blobs)*kzg4844.CellProofsPerBlob)),
	}
}

func TestSubmissionID_IsTheHashOfEveryKindOfTransaction(t *testing.T) {
	t.Parallel()
	key, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	to, one := common.HexToAddress("0xa11ce"), big.NewInt(1)
	access := types.AccessList{{Address: to, StorageKeys: []common.Hash{{1}}}}
	authorization, err := types.SignSetCode(key, types.SetCodeAuthorization{
		ChainID: *uint256.NewInt(1), Address: to, Nonce: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]types.TxData{
		"legacy":     &types.LegacyTx{Nonce: 1, GasPrice: one, Gas: 21_000, To: &to, Value: one},
		"deployment": &types.LegacyTx{Nonce: 1, GasPrice: one, Gas: 21_000, Data: make([]byte, 24<<10)},
		"EIP-2930": &types.AccessListTx{
			ChainID: one, Nonce: 2, GasPrice: one, Gas: 21_000, To: &to, AccessList: access,
		},
		"EIP-1559": &types.DynamicFeeTx{
			ChainID: one, Nonce: 3, GasTipCap: one, GasFeeCap: one, Gas: 21_000,
			To: &to, AccessList: access, Data: []byte{3},
		},
		"EIP-4844 bare": blobTx(nil),
		"EIP-7702": &types.SetCodeTx{
			ChainID: uint256.NewInt(1), Nonce: 4, GasTipCap: uint256.NewInt(1), GasFeeCap: uint256.NewInt(1),
			Gas: 60_000, To: to, AuthList: []types.SetCodeAuthorization{authorization},
		},
	}
	for name, sidecar := range sidecars() {
		kinds["EIP-4844 with "+name] = blobTx(sidecar)
	}
	for _, c := range chain.BuiltIn().All() {
		if c.Family != chain.EVM {
			continue
		}
		for name, data := range kinds {
			t.Run(name, func(t *testing.T) {
				tx, raw := signed(t, key, data)
				field, value := c.SubmissionID([]byte(`["0x` + hex.EncodeToString(raw) + `"]`))
				if field != "transaction_hash" || value != tx.Hash().Hex() {
					t.Errorf("%s on %s: got %s %s, want the hash %s", name, c.ID, field, value, tx.Hash())
				}
			})
		}
	}
}

func TestSubmissionID_IsThePublishedHash(t *testing.T) {
	t.Parallel()
	// The example of EIP-155, which is independent of our libraries.
	const (
		example = "0xf86c098504a817c800825208943535353535353535353535353535353535353535880de0b6b3a7640000" +
			"8025a028ef61340bd939bc2195fe537567866003e1a15d3c71ff63e1590620aa636276" +
			"a067cbe9d8997f761aecb703304b3800ccf555c9f3dc64214b297fb1966a3b6d83"
		hash = "0x33469b22e9f636356c4160a87eb19df52b7412e8eac32a4a55ffe88ea8350788"
	)
	if field, value := lookup(t, "eth_mainnet").SubmissionID(
		[]byte(`["` + example + `"]`)); field != "transaction_hash" || value != hash {
		t.Errorf("got %s %s, want %s", field, value, hash)
	}
}

// solanaMessages returns the message of a transfer in each version, as a wallet encodes it.
func solanaMessages(signers int) map[string][]byte {
	keys := bytes.Repeat([]byte{0xaa}, 32*(signers+1))
	keys = append(keys, make([]byte, 32)...) // the system program
	legacy := append([]byte{byte(signers), 0, 1, byte(signers + 2)}, keys...)
	legacy = append(legacy, bytes.Repeat([]byte{0xbb}, 32)...) // blockhash
	legacy = append(legacy, 1, byte(signers+1), 2, 0, byte(signers), 12, 2, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0)
	return map[string][]byte{"legacy": legacy, "version 0": append(append([]byte{0x80}, legacy...), 0)}
}

func TestSubmissionID_OnSolanaIsTheFirstSignature(t *testing.T) {
	t.Parallel()
	c := lookup(t, "solana_mainnet")
	for _, signers := range []int{1, 2, 9} {
		for version, message := range solanaMessages(signers) {
			wire := []byte{byte(signers)}
			var first string
			for i := range signers {
				_, private, err := ed25519.GenerateKey(nil)
				if err != nil {
					t.Fatal(err)
				}
				signature := ed25519.Sign(private, message)
				if i == 0 {
					first = base58.Encode(signature)
				}
				wire = append(wire, signature...)
			}
			wire = append(wire, message...)
			in58, in64 := base58.Encode(wire), base64.StdEncoding.EncodeToString(wire)
			for _, params := range []string{
				`["` + in58 + `"]`,
				`["` + in58 + `",null]`,
				`["` + in58 + `",{"skipPreflight":true}]`,
				`["` + in58 + `",{"encoding":"base58"}]`,
				`["` + in64 + `",{"skipPreflight":true,"encoding":"base64"}]`,
				`[ "` + in64 + `" , { "encoding" : "base64", "maxRetries": 0 } ]`,
				`["` + in64 + `",{"\u0065ncoding":"base\u00364"}]`,
				`["` + strings.ReplaceAll(in64, "/", `\/`) + `",{"encoding":"base64"}]`,
			} {
				if field, value := c.SubmissionID([]byte(params)); field != "signature" || value != first {
					t.Errorf("%s with %d signers, %.40s…: got %s %s, want %s", version, signers, params, field, value,
						first)
				}
			}
			// Decoded with the wrong encoding, it must yield no signature rather than a wrong one.
			if _, value := c.SubmissionID([]byte(`["` + in64 + `"]`)); value != "" {
				t.Errorf("%s: base64 read as base58 gave %s", version, value)
			}
		}
	}
}

func TestSubmissionID_IsEmptyForWhatIsNoTransaction(t *testing.T) {
	t.Parallel()
	for _, c := range []string{"eth_mainnet", "solana_mainnet"} {
		for _, params := range []string{
			``, `[]`, `[null]`, `[1]`, `[""]`, `["0x"]`, `["0x1"]`, `["0xzz"]`, `["abc"]`, `[{}]`, `["0x12`,
			`["` + strings.Repeat("z", 1<<20) + `"]`, `["AAAA",{"encoding":"base64"}]`, `["AAAA",{"encoding":"json"}]`,
		} {
			if field, value := lookup(t, c).SubmissionID([]byte(params)); field != "" || value != "" {
				t.Errorf("%s %.60s: got %s %s", c, params, field, value)
			}
		}
	}
}

func TestSyncParams_SplitTheTransactionFromTheTime(t *testing.T) {
	t.Parallel()
	for params, want := range map[string]struct {
		send string
		wait time.Duration
	}{
		`["0x02"]`:                  {`["0x02"]`, 0},
		`["0x02", 5000]`:            {`["0x02"]`, 5 * time.Second},
		`["0x02","0x2710"]`:         {`["0x02"]`, 10 * time.Second},
		`["0x02",null]`:             {`["0x02"]`, 0},
		`["0x02","5000"]`:           {`["0x02"]`, 0},
		`["0x02",-1]`:               {`["0x02"]`, 0},
		`["0x02",1.5]`:              {`["0x02"]`, 0},
		`["0x02","0xffffffffff"]`:   {`["0x02"]`, 0},
		`[ {"not":"text"} ,"0x64"]`: {`[{"not":"text"}]`, 100 * time.Millisecond},
		`[]`:                        {`[]`, 0},
		`{}`:                        {`[]`, 0},
		``:                          {`[]`, 0},
	} {
		t.Run(params, func(t *testing.T) {
			send, wait := chain.SyncParams([]byte(params))
			if string(send) != want.send {
				t.Errorf("sends %s, want %s", send, want.send)
			}
			if wait != want.wait {
				t.Errorf("waits for %s, want %s", wait, want.wait)
			}
		})
	}
}
