package offline_test

import (
	"context"
	"crypto/ecdsa"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/toolbox/offline"
)

// owner derives a key from a name, and returns it with its address.
func owner(t testing.TB, name string) (*ecdsa.PrivateKey, wallet.Address) {
	t.Helper()
	key, err := crypto.ToECDSA(crypto.Keccak256([]byte(name)))
	if err != nil {
		t.Fatal(err)
	}
	return key, wallet.Address(crypto.PubkeyToAddress(key.PublicKey))
}

// sign signs as personal_sign does.
func sign(t testing.TB, key *ecdsa.PrivateKey, message string) []byte {
	t.Helper()
	hash := wallet.TextHash(message)
	signature, err := crypto.Sign(hash[:], key)
	if err != nil {
		t.Fatal(err)
	}
	signature[64] += 27
	return signature
}

func spell(b []byte) string { return "0x" + hex.EncodeToString(b) }

// highS returns the other valid signature of the same key over the same message.
func highS(signature []byte) []byte {
	s := new(big.Int).Sub(crypto.S256().Params().N, new(big.Int).SetBytes(signature[32:64]))
	high := append(append([]byte(nil), signature[:32]...), s.FillBytes(make([]byte, 32))...)
	return append(high, 27+28-signature[64])
}

// contracts is a chain on which every call has the same answer.
type contracts struct {
	verdict byte // of the validator: 0 no code, 1 accepted, 2 refused
	err     error
	calls   int
}

func (c *contracts) Call(context.Context, wallet.CallMsg) ([]byte, error) {
	c.calls++
	return []byte{c.verdict}, c.err
}

func verdict(t *testing.T, message, signature, address string, chain wallet.ChainCaller) offline.SignatureVerdict {
	t.Helper()
	p, refusal := offline.NewPersonal([]byte(message), signature, address)
	if refusal != nil {
		t.Fatal(refusal)
	}
	v, err := p.Verify(t.Context(), chain)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestVerifySignature_OfKeysIsRecovered(t *testing.T) {
	t.Parallel()
	key, signer := owner(t, "signer")
	_, other := owner(t, "other")
	for _, message := range []string{
		"", "a message", "0x68656c6c6f", "naïve 😀\r\n", strings.Repeat("a", offline.MaxMessage),
	} {
		signature := spell(sign(t, key, message))
		v := verdict(t, message, signature, "", nil)
		in := expect.In(t, "%.20q, nobody expected", message)
		require.True(in, v.Valid)
		expect.Equal(in, *v.RecoveredAddress, signer.Checksummed())
		expect.Nil(in, v.ExpectedAddress)
		expect.NotEqual(in, v.Note, "")
		never := &contracts{verdict: 2}
		v = verdict(t, message, signature, strings.ToLower(signer.Checksummed()), never)
		in = expect.In(t, "%.20q, the signer expected", message)
		require.True(in, v.Valid)
		expect.Equal(in, *v.RecoveredAddress, signer.Checksummed())
		expect.Equal(in, *v.ExpectedAddress, signer.Checksummed())
		expect.Equal(in, v.VerifiedBy, "key")
		expect.Equal(in, v.Note, "")
		if never.calls != 0 {
			t.Errorf("%.20q: the chain was asked about a key's signature", message)
		}
		v = verdict(t, message, signature, other.Checksummed(), nil)
		in = expect.In(t, "%.20q, another expected", message)
		require.False(in, v.Valid)
		expect.Equal(in, *v.RecoveredAddress, signer.Checksummed())
		expect.Equal(in, *v.ExpectedAddress, other.Checksummed())
		expect.Equal(in, v.VerifiedBy, "")
		expect.Contains(in, v.Note, "another wallet")
		expect.Contains(in, v.Note, "chain")
	}
}

func TestVerifySignature_ThatNoKeyMadeIsNotValid(t *testing.T) {
	t.Parallel()
	key, signer := owner(t, "signer")
	good := sign(t, key, "a message")
	order := crypto.S256().Params().N.Bytes()
	zero := make([]byte, 32)
	for name, c := range map[string]struct {
		signature []byte
		why       string
	}{
		"empty":        {nil, "0 bytes"},
		"short":        {good[:63], "63 bytes"},
		"long":         {append(good[:65:65], 0), "66 bytes"},
		"high s":       {highS(good), "high s"},
		"v 26":         {append(good[:64:64], 26), "out of their range"},
		"v of EIP-155": {append(good[:64:64], 37), "out of their range"},
		"zero r":       {append(append([]byte(nil), zero...), good[32:]...), "out of their range"},
		"zero s":       {append(append(append([]byte(nil), good[:32]...), zero...), 27), "out of their range"},
		"order as r":   {append(append([]byte(nil), order...), good[32:]...), "out of their range"},
		"no such r":    {append(make([]byte, 31), append([]byte{5}, good[32:]...)...), "No key"}, // no point has x = 5
	} {
		t.Run(name, func(t *testing.T) {
			for _, address := range []string{"", signer.Checksummed()} {
				v := verdict(t, "a message", spell(c.signature), address, nil)
				in := expect.In(t, "%s, %q", name, address)
				expect.False(in, v.Valid)
				expect.Nil(in, v.RecoveredAddress)
				expect.Equal(in, v.VerifiedBy, "")
				expect.Contains(in, v.Note, c.why)
			}
		})
	}
}

func TestVerifySignature_ContractWalletsAreAskedOnTheChain(t *testing.T) {
	t.Parallel()
	key, _ := owner(t, "owner of a contract")
	_, contract := owner(t, "contract")
	signature := spell(sign(t, key, "a message"))
	for _, c := range []struct {
		verdict byte
		valid   bool
	}{{0, false}, {1, true}, {2, false}} {
		t.Run(fmt.Sprint(c.verdict), func(t *testing.T) {
			chain := &contracts{verdict: c.verdict}
			v := verdict(t, "a message", signature, contract.Checksummed(), chain)
			in := expect.In(t, "verdict %d", c.verdict)
			expect.Equal(in, v.Valid, c.valid)
			expect.Equal(in, v.VerifiedBy == "contract", c.valid)
			expect.Equal(in, v.Note == "", c.valid)
			expect.Equal(in, chain.calls, 1)
			expect.NotNil(in, v.RecoveredAddress)
			if v := verdict(t, "a message", "0x", contract.Checksummed(), chain); v.Valid != c.valid ||
				v.RecoveredAddress != nil {
				t.Errorf("verdict %d, nothing signed: %+v", c.verdict, v)
			}
		})
	}
	p, refusal := offline.NewPersonal([]byte("a message"), signature, contract.Checksummed())
	if refusal != nil {
		t.Fatal(refusal)
	}
	if v, err := p.Verify(t.Context(), &contracts{err: errors.New("refused")}); !errors.Is(err,
		wallet.ErrChainUnreachable) || v != (offline.SignatureVerdict{}) {
		t.Errorf("a chain that is away: %+v, %v", v, err)
	}
	chain := &contracts{verdict: 1}
	if v := verdict(t, "a message", signature, "", chain); chain.calls != 0 || v.VerifiedBy != "key" {
		t.Errorf("nobody expected: %+v after %d calls", v, chain.calls)
	}
}

func TestVerifySignature_InvalidInputIsRefused(t *testing.T) {
	t.Parallel()
	key, signer := owner(t, "signer")
	good := spell(sign(t, key, "a message"))
	for _, signature := range []string{
		"", good[2:], good + "0", "0X" + good[2:], "0xzz", " " + good,
		"0x" + strings.Repeat("00", wallet.MaxSignature+1), "0x\u0660",
	} {
		_, refusal := offline.NewPersonal([]byte("a message"), signature, "")
		refused(t, signature, refusal, "signature")
		_, refusal = offline.NewSignIn(signIn(signer).String(), signature)
		refused(t, signature, refusal, "signature")
	}
	for _, address := range []string{"0x", "someone.eth", signer.Checksummed() + "0", signer.Checksummed()[2:]} {
		_, refusal := offline.NewPersonal([]byte("a message"), good, address)
		refused(t, address, refusal, "address")
	}
	_, refusal := offline.NewPersonal(make([]byte, offline.MaxMessage+1), good, "")
	refused(t, "a long message", refusal, "message")
}

var issued = time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)

// signIn returns a message with every field.
func signIn(by wallet.Address) *wallet.Message {
	return &wallet.Message{
		Scheme: "https", Domain: "app.example:8443", Address: by, Statement: new("Sign in."),
		URI: "https://app.example/sign-in", ChainID: 8453, Nonce: "0123456789abcdef",
		IssuedAt: wallet.TimestampOf(issued), ExpirationTime: wallet.TimestampOf(issued.Add(time.Hour)),
		NotBefore: wallet.TimestampOf(issued.Add(time.Minute)), RequestID: new("7"),
		Resources: []string{"https://app.example/terms"},
	}
}

func signInVerdict(t *testing.T, message, signature string, chain wallet.ChainCaller,
	now time.Time,
) offline.SignInVerdict {
	t.Helper()
	s, refusal := offline.NewSignIn(message, signature)
	if refusal != nil {
		t.Fatal(refusal)
	}
	v, err := s.Verify(t.Context(), chain, now)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestSignInMessage_IsValidBetweenItsTimes(t *testing.T) {
	t.Parallel()
	key, signer := owner(t, "signer")
	message := signIn(signer).String()
	signature := spell(sign(t, key, message))
	for _, c := range []struct {
		after                      time.Duration
		valid, expired, notYetTrue bool
	}{
		{0, false, false, true},
		{time.Minute - time.Millisecond, false, false, true},
		{time.Minute, true, false, false},
		{time.Hour - time.Millisecond, true, false, false},
		{time.Hour, false, true, false},
		{24 * time.Hour, false, true, false},
	} {
		t.Run(c.after.String(), func(t *testing.T) {
			v := signInVerdict(t, message, signature, nil, issued.Add(c.after))
			in := expect.In(t, "after %s", c.after)
			expect.Equal(in, v.Valid, c.valid)
			expect.Equal(in, v.Expired, c.expired)
			expect.Equal(in, v.NotYetValid, c.notYetTrue)
			expect.Equal(in, *v.RecoveredAddress, signer.Checksummed())
			expect.Equal(in, v.VerifiedBy, "key")
			expect.Contains(in, v.Note, "nonce")
			expect.Equal(in, strings.Contains(v.Note, "expired"), c.expired)
			expect.Equal(in, strings.Contains(v.Note, "not count yet"), c.notYetTrue)
		})
	}
	m := signIn(signer)
	m.ExpirationTime, m.NotBefore = wallet.Timestamp{}, wallet.Timestamp{}
	forever := m.String()
	v := signInVerdict(t, forever, spell(sign(t, key, forever)), nil, issued.Add(1e6*time.Hour))
	in := expect.In(t, "without times")
	expect.True(in, v.Valid)
	expect.False(in, v.Expired)
	expect.False(in, v.NotYetValid)
}

func TestSignInMessage_OfAnotherWalletIsNotValid(t *testing.T) {
	t.Parallel()
	key, signer := owner(t, "signer")
	_, contract := owner(t, "contract")
	message := signIn(contract).String()
	signature := spell(sign(t, key, message))
	now := issued.Add(time.Minute)
	v := signInVerdict(t, message, signature, nil, now)
	require.False(t, v.Valid)
	expect.Equal(t, *v.RecoveredAddress, signer.Checksummed())
	expect.Equal(t, v.Fields.Address, contract.Checksummed())
	expect.Equal(t, v.VerifiedBy, "")
	if v := signInVerdict(t, message, signature, &contracts{verdict: 1}, now); !v.Valid || v.VerifiedBy != "contract" {
		t.Errorf("a contract that accepts: %+v", v)
	}
	if v := signInVerdict(t, message, signature, &contracts{verdict: 1}, issued); v.Valid ||
		v.VerifiedBy != "contract" {
		t.Errorf("a contract that accepts, too early: %+v", v)
	}
	if v := signInVerdict(t, message, signature, &contracts{verdict: 2}, now); v.Valid || v.VerifiedBy != "" {
		t.Errorf("a contract that refuses: %+v", v)
	}
	s, refusal := offline.NewSignIn(message, signature)
	if refusal != nil || s.ChainID() != 8453 {
		t.Fatal(s, refusal)
	}
	if _, err := s.Verify(t.Context(), &contracts{err: errors.New("refused")}, now); !errors.Is(err,
		wallet.ErrChainUnreachable) {
		t.Errorf("a chain that is away: %v", err)
	}
}

func TestSignInMessage_FieldsAreShownAsWritten(t *testing.T) {
	t.Parallel()
	_, signer := owner(t, "signer")
	full := signInVerdict(t, signIn(signer).String(), "0x", nil, issued).Fields
	expect.Equal(t, *full.Scheme, "https")
	expect.Equal(t, full.Domain, "app.example:8443")
	expect.Equal(t, full.Address, signer.Checksummed())
	expect.Equal(t, *full.Statement, "Sign in.")
	expect.Equal(t, full.URI, "https://app.example/sign-in")
	expect.Equal(t, full.Version, "1")
	expect.Equal(t, full.ChainID, 8453)
	expect.Equal(t, full.Nonce, "0123456789abcdef")
	expect.Equal(t, full.IssuedAt, "2026-05-06T07:08:09.000Z")
	expect.Equal(t, *full.ExpirationTime, "2026-05-06T08:08:09.000Z")
	expect.Equal(t, *full.NotBefore, "2026-05-06T07:09:09.000Z")
	expect.Equal(t, *full.RequestID, "7")
	require.Len(t, full.Resources, 1)
	expect.Equal(t, full.Resources[0], "https://app.example/terms")
	m := &wallet.Message{
		Domain: "a.example", Address: signer, URI: "a:b", Nonce: "01234567", IssuedAt: wallet.TimestampOf(issued),
	}
	bare := signInVerdict(t, m.String(), "0x", nil, issued).Fields
	expect.Nil(t, bare.Scheme)
	expect.Nil(t, bare.Statement)
	expect.Nil(t, bare.ExpirationTime)
	expect.Nil(t, bare.NotBefore)
	expect.Nil(t, bare.RequestID)
	expect.NotNil(t, bare.Resources)
}

func TestSignInMessage_InvalidTextIsRefusedByItsLine(t *testing.T) {
	t.Parallel()
	key, signer := owner(t, "signer")
	good := signIn(signer).String()
	for message, line := range map[string]string{
		"":      "Line 1",
		"hello": "Line 1",
		strings.Replace(good, signer.Checksummed(), strings.ToLower(signer.Checksummed()), 1): "Line 2",
		strings.ReplaceAll(good, "\n", "\r\n"):                                                "Line 1",
		strings.Replace(good, "Version: 1", "Version: 2", 1):                                  "Line 7",
		good + "\n": "Line",
		strings.Replace(good, "Sign in.", strings.Repeat("a", 20e3), 1): "longer than",
	} {
		t.Run(message, func(t *testing.T) {
			_, refusal := offline.NewSignIn(message, spell(sign(t, key, message)))
			refused(t, message, refusal, "message")
			if refusal != (*fault.Error)(nil) && !strings.Contains(refusal.Message, line) {
				t.Errorf("%.40q: %q", message, refusal.Message)
			}
		})
	}
}
