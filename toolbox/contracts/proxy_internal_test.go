package contracts

import (
	"strings"
	"testing"
)

func TestProxySlots_AreThoseOfTheStandard(t *testing.T) {
	t.Parallel()
	if implementationSlot != "0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc" {
		t.Errorf("the implementation's is %s", implementationSlot)
	}
	if beaconSlot != "0xa3f0ad74e5423aebfd80d3ef4346578335a9a72aeaee59ff6cb3582b35133d50" {
		t.Errorf("the beacon's is %s", beaconSlot)
	}
	if implementationCall != "0x5c60da1b" {
		t.Errorf("a beacon is asked with %s", implementationCall)
	}
}

func TestMinimalProxies_AreFoundByTheirCode(t *testing.T) {
	t.Parallel()
	const (
		head = "363d3d373d3d3d363d"
		tail = "5af43d82803e903d91602b57fd5bf3"
		full = "bebebebebebebebebebebebebebebebebebebebe" // the example of EIP-1167
	)
	for name, c := range map[string]struct{ code, want string }{
		"the standard's":        {head + "73" + full + tail, full},
		"with arguments behind": {head + "73" + full + tail + "00ff", full},
		"an address of sixteen bytes": {
			head + "6f" + full[:32] + "5af43d82803e903d91602757fd5bf3", "00000000" + full[:32],
		},
		"an address of one byte": {
			head + "60" + "05" + "5af43d82803e903d91601857fd5bf3", strings.Repeat("0", 39) + "5",
		},
		"a jump that leads elsewhere": {head + "6f" + full[:32] + tail, ""},
		"the zero address":            {head + "73" + strings.Repeat("0", 40) + tail, ""},
		"a push of 21 bytes":          {head + "74" + full + "be" + tail, ""},
		"no push":                     {head + "5f" + tail, ""},
		"cut off":                     {head + "73" + full + tail[:28], ""},
		"its head alone":              {head, ""},
		"nothing":                     {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			to, ok := minimalProxy(unhex(c.code))
			if got := strings.TrimPrefix(strings.ToLower(to.Checksummed()), "0x"); ok != (c.want != "") ||
				(ok && got != c.want) {
				t.Errorf("gives %s, %v; want %q", got, ok, c.want)
			}
		})
	}
}
