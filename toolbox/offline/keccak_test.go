package offline_test

import (
	"testing"

	"github.com/chainaccess/gateway/toolbox/offline"
)

func TestKeccak_TextsAndBytesHaveTheirKnownHashes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		encoding   offline.Encoding
		text, want string
	}{
		{"", "", "0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"},
		{offline.UTF8, "hello", "0x1c8aff950685c2ed4bc3174f3472287b56d9517b9c948127319a09a7a36deac8"},
		{
			offline.UTF8, "Transfer(address,address,uint256)",
			"0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef",
		},
		{offline.Hex, "0x", "0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"},
		{offline.Hex, "0x68656C6c6f", "0x1c8aff950685c2ed4bc3174f3472287b56d9517b9c948127319a09a7a36deac8"},
		{offline.UTF8, "0x68656c6c6f", "0x43e4886c04c4563d8da337f177f98d3b7b8c9f78e70ece7566829146fd4fb54d"},
	} {
		t.Run(string(c.encoding), func(t *testing.T) {
			data, refusal := c.encoding.Decode("text", c.text)
			if refusal != nil {
				t.Errorf("%s: %v", c.text, refusal)
				return
			}
			if got := offline.Keccak(c.text, data); got.Keccak != c.want || got.Input != c.text {
				t.Errorf("%s: %+v, want %s", c.text, got, c.want)
			}
		})
	}
}

func TestKeccak_InvalidHexadecimalIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "68", "0x6", "0xzz", "0x 68", "0X68", "0x6８", "hello", "0x68 "} {
		data, refusal := offline.Hex.Decode("text", text)
		refused(t, text, refusal, "text")
		if data != nil {
			t.Errorf("%q: %x", text, data)
		}
	}
}
