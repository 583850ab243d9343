// Package geo determines a client's country from the header of a trusted proxy, else from a MaxMind
// database. It stores and logs no address.
package geo

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"

	"github.com/oschwald/maxminddb-golang/v2"

	"github.com/chainaccess/gateway/metering/plan"
)

// Options are the sources of countries. The zero value knows none.
type Options struct {
	// Header is the header in which the outermost trusted proxy names the country; empty for none.
	Header string
	// TrustedProxies is how many proxies add to X-Forwarded-For. A request with fewer entries
	// bypassed them, so its header is not trusted.
	TrustedProxies int
	// Database is the path of a MaxMind database with countries; empty for none.
	Database string
}

// Locator determines countries.
type Locator struct {
	options  Options
	database atomic.Pointer[maxminddb.Reader] // nil for none
}

// New returns a Locator and reads its database into memory: replacing or truncating the file does
// not affect a running process.
func New(o Options) (*Locator, error) {
	l := &Locator{options: o}
	return l, l.Reload()
}

// Reload reads the database again. When it cannot be read or has no countries, the previous one
// stays.
func (l *Locator) Reload() error {
	if l.options.Database == "" {
		return nil
	}
	content, err := os.ReadFile(l.options.Database)
	if err != nil {
		if path, ok := errors.AsType[*fs.PathError](err); ok {
			err = path.Err // the path is in the variable
		}
		return fmt.Errorf("the database cannot be read; check its path: %w", err)
	}
	database, err := maxminddb.OpenBytes(content)
	if err != nil {
		return errors.New("the file is no MaxMind database; give one that ends in .mmdb")
	}
	if !hasCountries(database.Metadata.DatabaseType) {
		return fmt.Errorf("a database of type %.40q has no countries; give one of countries or cities",
			database.Metadata.DatabaseType)
	}
	l.database.Store(database)
	return nil
}

// hasCountries reports whether a database has countries, by its type: GeoLite2-Country,
// GeoIP2-City, DBIP-Country-Lite and the like.
func hasCountries(kind string) bool {
	for _, known := range []string{"Country", "City", "Enterprise"} {
		if strings.Contains(kind, known) {
			return true
		}
	}
	return false
}

// Country returns the ISO 3166-1 code of where a request comes from, in capitals; empty when it is
// not known. network is the client's.
func (l *Locator) Country(header http.Header, network netip.Prefix) string {
	if l == nil {
		return ""
	}
	if code := l.fromHeader(header); code != "" {
		return code
	}
	return l.lookUp(network.Addr())
}

// fromHeader returns what the trusted proxy's header says. It ignores two values, because a client
// may have sent one of them.
func (l *Locator) fromHeader(header http.Header) string {
	if l.options.Header == "" || l.options.TrustedProxies == 0 {
		return ""
	}
	values := header.Values(l.options.Header)
	passed := header.Values("X-Forwarded-For")
	if len(values) != 1 || len(passed) == 0 ||
		1+strings.Count(strings.Join(passed, ","), ",") < l.options.TrustedProxies {
		return ""
	}
	return country(strings.TrimSpace(values[0]))
}

func (l *Locator) lookUp(client netip.Addr) string {
	database := l.database.Load()
	if database == nil || !client.IsValid() {
		return ""
	}
	var code string
	// The country of the address, not where its network is registered: VAT depends on the former. A
	// broken record yields no country.
	if err := database.Lookup(client).DecodePath(&code, "country", "iso_code"); err != nil {
		return ""
	}
	return country(code)
}

// country returns the code in capitals if it is a country's, else "".
func country(code string) string {
	code = strings.ToUpper(code)
	if !plan.Located(code) {
		return ""
	}
	return code
}
