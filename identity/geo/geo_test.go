package geo

import (
	"bytes"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/maxmind/mmdbwriter"
	"github.com/maxmind/mmdbwriter/mmdbtype"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

// database writes a database of a type with the given countries by network, and returns its path.
func database(t *testing.T, kind string, countries map[string]mmdbtype.DataType) string {
	t.Helper()
	tree, err := mmdbwriter.New(mmdbwriter.Options{DatabaseType: kind, IncludeReservedNetworks: true})
	if err != nil {
		t.Fatal(err)
	}
	for network, record := range countries {
		_, ip, err := net.ParseCIDR(network)
		if err != nil {
			t.Fatal(err)
		}
		if err := tree.Insert(ip, record); err != nil {
			t.Fatal(err)
		}
	}
	var content bytes.Buffer
	if _, err := tree.WriteTo(&content); err != nil {
		t.Fatal(err)
	}
	return file(t, content.Bytes())
}

func file(t *testing.T, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "countries.mmdb")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func in(member, code string) mmdbtype.DataType {
	return mmdbtype.Map{mmdbtype.String(member): mmdbtype.Map{"iso_code": mmdbtype.String(code)}}
}

func locator(t *testing.T, o Options) *Locator {
	t.Helper()
	l, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestCountry_OfANetworkIsInTheDatabase(t *testing.T) {
	t.Parallel()
	l := locator(t, Options{Database: database(t, "GeoLite2-Country", map[string]mmdbtype.DataType{
		"192.0.2.0/24": in("country", "DE"), "2001:db8:1::/48": in("country", "US"),
		"198.51.100.0/24": in("registered_country", "FR"), "203.0.113.0/25": in("country", "ZZ"),
		"203.0.113.128/25": mmdbtype.Map{
			"country": mmdbtype.Map{"iso_code": mmdbtype.Uint32(7)},
		},
	})})
	for network, want := range map[string]string{
		"192.0.2.77/32": "DE", "2001:db8:1:2::/64": "US",
		"198.51.100.1/32":  "", // the network's registration does not count
		"203.0.113.1/32":   "", // not a country's code
		"203.0.113.200/32": "", // a record of another shape
		"10.0.0.1/32":      "", "2001:db8:2::/64": "",
	} {
		t.Run(network, func(t *testing.T) {
			if got := l.Country(http.Header{}, netip.MustParsePrefix(network)); got != want {
				t.Errorf("%s is in %q, want %q", network, got, want)
			}
		})
	}
	if got := l.Country(http.Header{}, netip.Prefix{}); got != "" {
		t.Errorf("a client without an address is in %q", got)
	}
}

func TestCountry_TrustedProxysHeaderGoesBeforeTheDatabase(t *testing.T) {
	t.Parallel()
	path := database(t, "DBIP-Country-Lite", map[string]mmdbtype.DataType{"192.0.2.0/24": in("country", "DE")})
	const name = "Cf-Ipcountry"
	through := "192.0.2.1, 10.0.0.1"
	for what, tc := range map[string]struct {
		proxies int
		header  http.Header
		want    string
	}{
		"named":                  {2, http.Header{name: {"US"}, "X-Forwarded-For": {through}}, "US"},
		"named in small letters": {2, http.Header{name: {" us "}, "X-Forwarded-For": {through}}, "US"},
		"in two lines of forwarders": {
			2, http.Header{name: {"US"}, "X-Forwarded-For": {"192.0.2.1", "10.0.0.1"}}, "US",
		},
		"not named":            {2, http.Header{"X-Forwarded-For": {through}}, "DE"},
		"twice":                {2, http.Header{name: {"US", "US"}, "X-Forwarded-For": {through}}, "DE"},
		"two in one":           {2, http.Header{name: {"US, CH"}, "X-Forwarded-For": {through}}, "DE"},
		"unknown to the proxy": {2, http.Header{name: {"XX"}, "X-Forwarded-For": {through}}, "DE"},
		"came around a proxy":  {3, http.Header{name: {"US"}, "X-Forwarded-For": {through}}, "DE"},
		"came by no proxy":     {1, http.Header{name: {"US"}}, "DE"},
		"no proxy is trusted":  {0, http.Header{name: {"US"}, "X-Forwarded-For": {through}}, "DE"},
	} {
		t.Run(what, func(t *testing.T) {
			l := locator(t, Options{Header: "CF-IPCountry", TrustedProxies: tc.proxies, Database: path})
			if got := l.Country(tc.header, netip.MustParsePrefix("192.0.2.1/32")); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

func TestCountry_IsUnknownWithoutHeaderAndDatabase(t *testing.T) {
	t.Parallel()
	for what, l := range map[string]*Locator{"none": nil, "empty": locator(t, Options{TrustedProxies: 1})} {
		header := http.Header{"Cf-Ipcountry": {"US"}, "X-Forwarded-For": {"192.0.2.1"}}
		if got := l.Country(header, netip.MustParsePrefix("192.0.2.1/32")); got != "" {
			t.Errorf("%s: %q", what, got)
		}
	}
}

func TestDatabase_OfSomethingElseIsRefused(t *testing.T) {
	t.Parallel()
	for what, tc := range map[string]struct{ path, want string }{
		"nothing there":    {filepath.Join(t.TempDir(), "canary.mmdb"), "cannot be read"},
		"another file":     {file(t, []byte("countries")), "no MaxMind database"},
		"another database": {database(t, "GeoLite2-ASN", nil), "has no countries"},
	} {
		t.Run(what, func(t *testing.T) {
			_, err := New(Options{Database: tc.path})
			at := expect.In(t, "%s", what)
			require.Error(at, err)
			expect.Contains(at, err.Error(), tc.want)
			expect.NotContains(at, err.Error(), "canary")
		})
	}
}

func TestReload_TakesTheNewDatabaseOrKeepsTheOldOne(t *testing.T) {
	t.Parallel()
	client := netip.MustParsePrefix("192.0.2.1/32")
	path := database(t, "GeoIP2-City", map[string]mmdbtype.DataType{"192.0.2.0/24": in("country", "DE")})
	l := locator(t, Options{Database: path})
	if err := os.WriteFile(path, []byte("half a"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := l.Reload(); err == nil || l.Country(nil, client) != "DE" {
		t.Errorf("a broken file: %v, and the client is in %q", err, l.Country(nil, client))
	}
	next, err := os.ReadFile(database(t, "GeoIP2-City", map[string]mmdbtype.DataType{
		"192.0.2.0/24": in("country", "CH"),
	}))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, next, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := l.Reload(); err != nil || l.Country(nil, client) != "CH" {
		t.Errorf("a new file: %v, and the client is in %q", err, l.Country(nil, client))
	}
}
