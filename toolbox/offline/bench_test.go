package offline_test

import (
	"testing"

	"github.com/chainaccess/gateway/toolbox/offline"
)

func BenchmarkChecksum(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if got := offline.Checksum("0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"); !got.ValidAddress {
			b.Fatal(got)
		}
	}
}

func BenchmarkConvert(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, refusal := offline.Convert("1234567890.123456789", "gwei", "eth"); refusal != nil {
			b.Fatal(refusal)
		}
	}
}

func BenchmarkSelect(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, refusal := offline.Select(
			"function f(address to, (uint a, bytes b)[] calldata calls) external returns (bool)"); refusal != nil {
			b.Fatal(refusal)
		}
	}
}

func BenchmarkVerifyPersonal(b *testing.B) {
	b.ReportAllocs()
	key, signer := owner(b, "signer")
	signature := spell(sign(b, key, "a message"))
	for b.Loop() {
		p, refusal := offline.NewPersonal([]byte("a message"), signature, signer.Checksummed())
		if refusal != nil {
			b.Fatal(refusal)
		}
		if v, err := p.Verify(b.Context(), nil); err != nil || !v.Valid {
			b.Fatal(v, err)
		}
	}
}

func BenchmarkVerifySignIn(b *testing.B) {
	b.ReportAllocs()
	key, signer := owner(b, "signer")
	message := signIn(signer).String()
	signature := spell(sign(b, key, message))
	for b.Loop() {
		s, refusal := offline.NewSignIn(message, signature)
		if refusal != nil {
			b.Fatal(refusal)
		}
		if v, err := s.Verify(b.Context(), nil, issued); err != nil || v.VerifiedBy == "" {
			b.Fatal(v, err)
		}
	}
}
