package solana

import (
	"crypto/sha256"
	"encoding/binary"
	"math/big"
	"strconv"
)

// The SPL Token layouts (spl-token, state.rs): a mint has 82 bytes, a token account 165.
const (
	mintSize         = 82
	tokenAccountSize = 165
	usdDecimals      = 6
	usdcPerOwner     = 1_000_000_000 // 1,000 USDC
	pyusdPerOwner    = 250_000_000   // 250 PYUSD
)

// usdcMint and pyusdMint have the addresses of USD Coin (Token program) and PayPal USD (Token-2022
// program) on mainnet.
var (
	usdcMint  = mustKey("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v")
	pyusdMint = mustKey("2b1kV6DkPAnxd5ixfnxCpjxmKwqjjaYmCZfHsFu24GXo")
)

// seedTokens creates two associated token accounts for each owner, with 1,000 USDC and 250 PYUSD.
func (l *ledger) seedTokens(owners []key) {
	l.seedToken(usdcMint, tokenProgram, usdcPerOwner, owners)
	l.seedToken(pyusdMint, token2022Program, pyusdPerOwner, owners)
}

func (l *ledger) seedToken(mint, program key, perOwner uint64, owners []key) {
	state := make([]byte, mintSize)
	binary.LittleEndian.PutUint64(state[36:], perOwner*uint64(len(owners)))
	state[44], state[45] = usdDecimals, 1
	l.write(mint, 0, account{lamports: rentExempt(mintSize), owner: program, data: state})
	for _, owner := range owners {
		data := make([]byte, tokenAccountSize)
		copy(data, mint[:])
		copy(data[32:], owner[:])
		binary.LittleEndian.PutUint64(data[64:], perOwner)
		data[108] = 1 // initialized
		l.write(associated(owner, mint, program), 0, account{
			lamports: rentExempt(tokenAccountSize), owner: program, data: data,
		})
	}
}

// tokenPrograms maps the programs that own token accounts to their names in parsed accounts.
// Token-2022 accounts may have extensions; here none has.
//
//nolint:gosec // names of programs, no credentials
var tokenPrograms = map[key]string{tokenProgram: "spl-token", token2022Program: "spl-token-2022"}

// associated returns the associated token account: the first program-derived address that is off
// the curve.
func associated(owner, mint, program key) key {
	for bump := 255; bump >= 0; bump-- {
		h := sha256.New()
		for _, part := range [][]byte{
			owner[:], program[:], mint[:], {byte(bump)}, ataProgram[:], []byte("ProgramDerivedAddress"),
		} {
			h.Write(part)
		}
		if k := key(h.Sum(nil)); !onCurve(k) {
			return k
		}
	}
	return key{}
}

// onCurve reports whether 32 bytes encode the y coordinate of an ed25519 point: whether
// (y²−1)/(dy²+1) is a square modulo 2²⁵⁵−19.
func onCurve(k key) bool {
	p := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255), big.NewInt(19))
	d := new(big.Int).ModInverse(big.NewInt(121666), p)
	d.Mul(d, big.NewInt(-121665)).Mod(d, p)
	var reversed [32]byte
	for i, b := range k {
		reversed[31-i] = b
	}
	reversed[0] &= 0x7f
	square := new(big.Int).SetBytes(reversed[:])
	square.Mul(square, square).Mod(square, p)
	numerator := new(big.Int).Sub(square, big.NewInt(1))
	denominator := new(big.Int).Mul(d, square)
	denominator.Add(denominator, big.NewInt(1)).ModInverse(denominator, p)
	return big.Jacobi(numerator.Mul(numerator, denominator).Mod(numerator, p), p) >= 0
}

// token is a decoded token account.
type token struct {
	mint, owner key
	amount      uint64
}

func (a account) token() (token, bool) {
	if tokenPrograms[a.owner] == "" || len(a.data) != tokenAccountSize {
		return token{}, false
	}
	return token{key(a.data[:32]), key(a.data[32:64]), binary.LittleEndian.Uint64(a.data[64:])}, true
}

// mint decodes a mint account.
func (a account) mint() (supply uint64, decimals int, ok bool) {
	if tokenPrograms[a.owner] == "" || len(a.data) != mintSize {
		return 0, 0, false
	}
	return binary.LittleEndian.Uint64(a.data[36:]), int(a.data[44]), true
}

// tokenAmount is the documented UiTokenAmount.
type tokenAmount struct {
	Amount         string  `json:"amount"`
	Decimals       int     `json:"decimals"`
	UIAmount       float64 `json:"uiAmount"`
	UIAmountString string  `json:"uiAmountString"`
}

func newTokenAmount(amount uint64, decimals int) tokenAmount {
	ui := float64(amount)
	for range decimals {
		ui /= 10
	}
	return tokenAmount{strconv.FormatUint(amount, 10), decimals, ui, strconv.FormatFloat(ui, 'f', -1, 64)}
}

// parsed returns the jsonParsed encoding of a token program's account; nil for other accounts.
func (l *ledger) parsed(a account, slot uint64) map[string]any {
	var kind string
	var info map[string]any
	if t, ok := a.token(); ok {
		m, _ := l.at(t.mint, slot)
		_, decimals, _ := m.mint()
		kind, info = "account", map[string]any{
			"isNative": false, "mint": t.mint, "owner": t.owner, "state": "initialized",
			"tokenAmount": newTokenAmount(t.amount, decimals),
		}
	} else if supply, decimals, ok := a.mint(); ok {
		kind, info = "mint", map[string]any{
			"decimals": decimals, "freezeAuthority": nil, "isInitialized": true, "mintAuthority": nil,
			"supply": strconv.FormatUint(supply, 10),
		}
	} else {
		return nil
	}
	return map[string]any{
		"program": tokenPrograms[a.owner], "parsed": map[string]any{"type": kind, "info": info}, "space": len(a.data),
	}
}
