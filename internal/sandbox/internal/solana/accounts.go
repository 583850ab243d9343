package solana

import (
	"crypto/ed25519"
	"maps"
	"math"
	"slices"

	"github.com/mr-tron/base58"
)

const (
	lamportsPerSOL = 1_000_000_000
	maxAccounts    = 100_000
	rentExemptEver = math.MaxUint64 // rentEpoch of rent-exempt accounts
)

// account is the state of an address. Its data is never modified in place.
type account struct {
	lamports   uint64
	owner      key
	data       []byte
	executable bool
}

// version is an account's state after a slot.
type version struct {
	slot uint64
	account
}

// rentExempt returns the minimum balance of an account with data of this size: two years at 3,480
// lamports per byte and year.
func rentExempt(size int) uint64 { return uint64(128+size) * 3_480 * 2 } //nolint:gosec // never negative

// at returns the account as of a slot; false when it does not exist there.
func (l *ledger) at(k key, slot uint64) (account, bool) {
	for _, v := range slices.Backward(l.accounts[k]) {
		if v.slot <= slot {
			return v.account, v.lamports > 0
		}
	}
	return account{}, false
}

// write adds a version and drops those that no commitment can see any more.
func (l *ledger) write(k key, slot uint64, a account) {
	versions := l.accounts[k]
	if n := len(versions); n > 0 && versions[n-1].slot == slot {
		versions[n-1].account = a
		return
	}
	if len(l.blocks) > 0 {
		final := l.behind(finalizedDepth).slot
		newest := 0
		for i, v := range versions {
			if v.slot <= final {
				newest = i
			}
		}
		versions = slices.Clone(versions[min(newest, len(versions)):])
	}
	l.accounts[k] = append(versions, version{slot, a})
}

// addresses lists the addresses in sorted order.
func (l *ledger) addresses() []key {
	return slices.SortedFunc(maps.Keys(l.accounts), func(a, b key) int { return slices.Compare(a[:], b[:]) })
}

func mustKey(s string) key {
	raw, err := base58.Decode(s)
	if err != nil || len(raw) != len(key{}) {
		panic("sandbox: bad address constant " + s)
	}
	return key(raw)
}

// The programs with an account; only those in programs (execute.go) can be called.
var (
	systemProgram    = key{}
	nativeLoader     = mustKey("NativeLoader1111111111111111111111111111111")
	bpfLoader        = mustKey("BPFLoader2111111111111111111111111111111111")
	computeProgram   = mustKey("ComputeBudget111111111111111111111111111111")
	voteProgram      = mustKey("Vote111111111111111111111111111111111111111")
	stakeProgram     = mustKey("Stake11111111111111111111111111111111111111")
	memoProgram      = mustKey("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr")
	memoProgramV1    = mustKey("Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo")
	tokenProgram     = mustKey("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA")
	token2022Program = mustKey("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb")
	ataProgram       = mustKey("ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL")
)

// seed creates the initial accounts of an empty ledger.
func (l *ledger) seed(funded, traffic []ed25519.PrivateKey, identity, vote key) {
	for name, program := range map[string]key{
		"system_program": systemProgram, "compute_budget_program": computeProgram, "vote_program": voteProgram,
		"stake_program": stakeProgram,
	} {
		l.write(program, 0, account{lamports: 1, owner: nativeLoader, data: []byte(name), executable: true})
	}
	for _, program := range []key{memoProgram, memoProgramV1, tokenProgram, token2022Program, ataProgram} {
		l.write(program, 0, account{lamports: rentExempt(0), owner: bpfLoader, executable: true})
	}
	for _, k := range traffic {
		l.write(publicKey(k), 0, account{lamports: 1_000_000 * lamportsPerSOL})
	}
	l.write(identity, 0, account{lamports: 100 * lamportsPerSOL})
	l.write(vote, 0, account{lamports: rentExempt(3_762), owner: voteProgram, data: make([]byte, 3_762)})
	owners := make([]key, len(funded))
	for i, k := range funded {
		owners[i] = publicKey(k)
		l.write(owners[i], 0, account{lamports: 1_000 * lamportsPerSOL})
	}
	l.seedTokens(owners)
}
