package wallet_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

// Addresses in the capitals of EIP-55: its test cases (all capitals, all lower case, mixed) and
// public test accounts.
var checksummed = []string{
	"0x52908400098527886E0F7030069857D2E4169EE7",
	"0x8617E340B3D01FA5F11F306F4090FD50E238070D",
	"0xde709f2102306220921060314715629080e2fb77",
	"0x27b1fdb04752bbc536007a920d24acb045561c26",
	"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
	"0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
	"0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
	"0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
	"0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
	"0x0000000000000000000000000000000000000000",
}

func TestAddress_IsReadInAnyCaseAndShownAsEIP55(t *testing.T) {
	t.Parallel()
	for _, want := range checksummed {
		for _, s := range []string{want, strings.ToLower(want), "0x" + strings.ToUpper(want[2:])} {
			a, err := wallet.ParseAddress(s)
			in := expect.In(t, "%s", s)
			require.NoError(in, err)
			expect.Equal(in, a.Checksummed(), want)
			expect.Equal(in, a.String(), want)
			if a.IsZero() != (strings.Trim(want, "0x") == "") {
				t.Errorf("%s: zero is %v", s, a.IsZero())
			}
			text, err := json.Marshal(a)
			if err != nil || string(text) != `"`+want+`"` {
				t.Errorf("%s: is %s in JSON, %v", s, text, err)
			}
			var again wallet.Address
			if err := json.Unmarshal(text, &again); err != nil || again != a {
				t.Errorf("%s: comes back as %s, %v", s, again, err)
			}
		}
	}
}

func TestAddress_InvalidIsRefused(t *testing.T) {
	t.Parallel()
	const good = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
	for _, s := range []string{
		"", "0x", good[2:], "0X" + good[2:], good[:41], good + "0", good + " ", " " + good, good[:41] + "g",
		"0x" + strings.Repeat("\u0430", 20), "0x0x" + good[4:], good[:20] + "\x00" + good[21:], "someone.eth",
		"-0x" + good[3:],
	} {
		if a, err := wallet.ParseAddress(s); !errors.Is(err, wallet.ErrAddress) || !a.IsZero() {
			t.Errorf("%q: %s, %v", s, a, err)
		}
		var a wallet.Address
		if err := a.UnmarshalText([]byte(s)); !errors.Is(err, wallet.ErrAddress) || !a.IsZero() {
			t.Errorf("%q: %s, %v", s, a, err)
		}
	}
}
