package offline_test

import (
	"strings"
	"testing"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/toolbox/offline"
)

// The test cases of EIP-55: all upper case, all lower case, mixed.
var eip55 = []string{
	"0x52908400098527886E0F7030069857D2E4169EE7",
	"0x8617E340B3D01FA5F11F306F4090FD50E238070D",
	"0xde709f2102306220921060314715629080e2fb77",
	"0x27b1fdb04752bbc536007a920d24acb045561c26",
	"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
	"0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
	"0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
	"0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
}

func TestChecksum_OneCaseOrTheRightCapitalsAreValid(t *testing.T) {
	t.Parallel()
	for _, right := range eip55 {
		for _, s := range []string{right, strings.ToLower(right), "0x" + strings.ToUpper(right[2:])} {
			got := offline.Checksum(s)
			in := expect.In(t, "%s", s)
			expect.True(in, got.ValidAddress)
			require.NotNil(in, got.Checksummed)
			expect.Equal(in, *got.Checksummed, right)
			expect.Equal(in, got.Note, "")
			if s == right != (got.ChecksumOK != nil) || (got.ChecksumOK != nil && !*got.ChecksumOK) {
				t.Errorf("%s: checksum_ok is %v", s, got.ChecksumOK)
			}
		}
	}
}

func TestChecksum_WrongCapitalsAreNotValid(t *testing.T) {
	t.Parallel()
	const right = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
	for _, s := range []string{
		"0x5aaeb6053F3E94C9b9A09f33669435E7Ef1BeAed", // one letter's case
		"0x5AaEB6053f3e94c9B9a09F33669435e7eF1bEaED", // every letter's case
	} {
		got := offline.Checksum(s)
		in := expect.In(t, "%s", s)
		expect.False(in, got.ValidAddress)
		require.NotNil(in, got.Checksummed)
		expect.Equal(in, *got.Checksummed, right)
		require.NotNil(in, got.ChecksumOK)
		expect.False(in, *got.ChecksumOK)
		expect.NotEqual(in, got.Note, "")
	}
}

func TestChecksum_InvalidAddressIsAnsweredWithWhy(t *testing.T) {
	t.Parallel()
	const right = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
	for s, why := range map[string]string{
		"":                             "does not begin with 0x",
		"0x":                           "0 digits",
		right[2:]:                      "does not begin with 0x",
		"0X" + right[2:]:               "does not begin with 0x",
		" " + right:                    "does not begin with 0x",
		right + " ":                    "other characters",
		right[:41]:                     "39 digits",
		right + "0":                    "41 digits",
		right[:41] + "g":               "other characters",
		"0x" + strings.Repeat("а", 40): "other characters", // Cyrillic
		"0x" + strings.Repeat("а", 20): "other characters", // 40 bytes
		"vitalik.eth":                  "does not begin with 0x",
		"0x" + strings.Repeat("0", 64): "64 digits",
	} {
		t.Run(s, func(t *testing.T) {
			got := offline.Checksum(s)
			in := expect.In(t, "%q", s)
			expect.False(in, got.ValidAddress)
			expect.Nil(in, got.Checksummed)
			expect.Nil(in, got.ChecksumOK)
			expect.Contains(in, got.Note, why)
		})
	}
}
