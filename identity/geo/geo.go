// Package geo tells which country a client is in: by the header of a trusted proxy, else by a
// MaxMind database. It keeps no address and writes none down.
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

// Options say what tells where clients are. The zero value locates nobody.
type Options struct {
	// Header is one in which the outermost trusted proxy names the country; empty when none does.
	Header string
	// TrustedProxies is how many proxies add to X-Forwarded-For. A request that came by fewer came
	// around them, and may say what it likes.
	TrustedProxies int
	// Database is the path of a MaxMind database with countries; empty for none.
	Database string
}

// Locator tells countries.
type Locator struct {
	options  Options
	database atomic.Pointer[maxminddb.Reader] // nil: there is none
}

// New makes a Locator, with its database read into memory: a file that is replaced or cut short
// while the process runs does it no harm.
func New(o Options) (*Locator, error) {
	l := &Locator{options: o}
	return l, l.Reload()
}

// Reload reads the database again. When it cannot be read or has no countries, the one before
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

// hasCountries goes by the type that a database says it has: GeoLite2-Country, GeoIP2-City,
// DBIP-Country-Lite and their like.
func hasCountries(kind string) bool {
	for _, known := range []string{"Country", "City", "Enterprise"} {
		if strings.Contains(kind, known) {
			return true
		}
	}
	return false
}

// Country is the ISO 3166-1 code of where a request comes from, in capitals; empty when that is not
// known. The network is the client's.
func (l *Locator) Country(header http.Header, network netip.Prefix) string {
	if l == nil {
		return ""
	}
	if code := l.told(header); code != "" {
		return code
	}
	return l.lookUp(network.Addr())
}

// told is what the trusted proxy says. Two values are one too many: a client may have sent the
// other.
func (l *Locator) told(header http.Header) string {
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
	// Where the address is, not where its network is registered: tax goes by the former. A broken
	// record locates nobody.
	if err := database.Lookup(client).DecodePath(&code, "country", "iso_code"); err != nil {
		return ""
	}
	return country(code)
}

// country is the code in capitals when it is one of a country.
func country(code string) string {
	code = strings.ToUpper(code)
	if !plan.Located(code) {
		return ""
	}
	return code
}
