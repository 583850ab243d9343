// Package config turns the environment and the upstreams file into validated values. It is the only
// package that reads the environment. A bad value stops the start with the variable's name.
package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"github.com/chainaccess/gateway/internal/redisconn"
	"github.com/chainaccess/gateway/metering/netlimit"
)

// Config holds the settings of all roles, read from the environment. docs/configuration.md lists
// the variables.
type Config struct {
	DatabaseURL       string `env:"DATABASE_URL"`
	RedisURL          string `env:"REDIS_URL"`
	RedisTLSCAFile    string `env:"REDIS_TLS_CA_FILE"`
	RedisTLSCertFile  string `env:"REDIS_TLS_CERT_FILE"`
	RedisTLSKeyFile   string `env:"REDIS_TLS_KEY_FILE"`
	RedisTLSName      string `env:"REDIS_TLS_SERVER_NAME"`
	CacheRedisURL     string `env:"CACHE_REDIS_URL"`
	CacheBytes        int64  `env:"CACHE_BYTES"        envDefault:"67108864"`
	TemporalAddress   string `env:"TEMPORAL_ADDRESS"`
	TemporalNamespace string `env:"TEMPORAL_NAMESPACE" envDefault:"default"`
	KeyPepper         string `env:"KEY_PEPPER"`
	UpstreamsFile     string `env:"UPSTREAMS_FILE"`
	ListenAddress     string `env:"LISTEN_ADDRESS"     envDefault:":8080"`
	MetricsAddress    string `env:"METRICS_ADDRESS"    envDefault:"127.0.0.1:9464"`
	ProfileToken      string `env:"PROFILE_TOKEN"`
	PublicURL         string `env:"PUBLIC_URL"         envDefault:"http://localhost:8080"`
	TrustedProxies    int    `env:"TRUSTED_PROXIES"    envDefault:"0"`
	// MCPHosts are further host names under which /mcp answers on a loopback address; * allows any.
	MCPHosts         string `env:"MCP_HOSTS"`
	Contact          string `env:"CONTACT"            envDefault:"support@chainaccess.example"`
	SourcifyURL      string `env:"SOURCIFY_URL"       envDefault:"https://sourcify.dev"`
	SignaturesURL    string `env:"SIGNATURES_URL"     envDefault:"https://api.4byte.sourcify.dev"`
	SMTPURL          string `env:"SMTP_URL"`
	MailFrom         string `env:"MAIL_FROM"`
	MaxBodyBytes     int64  `env:"MAX_BODY_BYTES"     envDefault:"4194304"`
	MaxAnswerBytes   int64  `env:"MAX_ANSWER_BYTES"   envDefault:"536870912"`
	BatchMemoryBytes int64  `env:"BATCH_MEMORY_BYTES" envDefault:"268435456"`
	// LogBlockCaps are larger caps on the range of eth_getLogs, by plan; see LogBlocksByPlan.
	LogBlockCaps   string `env:"LOG_BLOCK_CAPS"`
	MaxConnections int    `env:"MAX_CONNECTIONS"    envDefault:"16384"`
	// MaxConnectionsPerAddress has no effect unless TrustedProxies is 0.
	MaxConnectionsPerAddress int `env:"MAX_CONNECTIONS_PER_ADDRESS" envDefault:"512"`
	// NetworkLimits overrides limits per network; see netlimit.Parse.
	NetworkLimits string `env:"NETWORK_LIMITS"`
	// How many call records may wait in memory for PostgreSQL, how long one waits at most while
	// PostgreSQL answers, and for how many days records are kept.
	CallRecordsBuffer int           `env:"CALL_RECORDS_BUFFER" envDefault:"200000"`
	CallRecordsDelay  time.Duration `env:"CALL_RECORDS_DELAY"  envDefault:"250ms"`
	CallRecordsDays   int           `env:"CALL_RECORDS_DAYS"   envDefault:"30"`
	CallTimeout       time.Duration `env:"CALL_TIMEOUT"       envDefault:"30s"`
	ProbeInterval     time.Duration `env:"PROBE_INTERVAL"     envDefault:"5s"`
	PriceHeartbeat    time.Duration `env:"PRICE_HEARTBEAT"    envDefault:"1h"`
	ServiceTitle      string        `env:"SERVICE_TITLE"      envDefault:"Chain Access Gateway"`
	CountryHeader     string        `env:"COUNTRY_HEADER"`
	GeoIPDatabase     string        `env:"GEOIP_DATABASE"`
	DrainDelay        time.Duration `env:"DRAIN_DELAY"        envDefault:"3s"`
	DrainTimeout      time.Duration `env:"DRAIN_TIMEOUT"      envDefault:"35s"`
	LogLevel          slog.Level    `env:"LOG_LEVEL"          envDefault:"info"`
	LogFormat         string        `env:"LOG_FORMAT"         envDefault:"json"`

	// Payments per call.
	X402PayTo            string        `env:"X402_PAY_TO"`
	X402Asset            string        `env:"X402_ASSET"             envDefault:"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"`
	X402AssetName        string        `env:"X402_ASSET_NAME"        envDefault:"USD Coin"`
	X402AssetVersion     string        `env:"X402_ASSET_VERSION"     envDefault:"2"`
	X402MinConfirmations uint64        `env:"X402_MIN_CONFIRMATIONS" envDefault:"2"`
	X402CorroborateAbove int64         `env:"X402_CORROBORATE_ABOVE" envDefault:"1000000"` // atomic units of the asset
	X402FinalityDelay    time.Duration `env:"X402_FINALITY_DELAY"    envDefault:"20m"`
	X402FacilitatorURL   string        `env:"X402_FACILITATOR_URL"`

	// Plans and packs, sold through Stripe.
	StripeSecretKey     string `env:"STRIPE_SECRET_KEY"`
	StripeWebhookSecret string `env:"STRIPE_WEBHOOK_SECRET"`
	StripeAPIURL        string `env:"STRIPE_API_URL"` // empty for Stripe's own

	OTLPEndpoint       string  `env:"OTEL_EXPORTER_OTLP_ENDPOINT"`
	OTLPTracesEndpoint string  `env:"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"`
	OTLPHeaders        string  `env:"OTEL_EXPORTER_OTLP_HEADERS"`
	OTLPProtocol       string  `env:"OTEL_EXPORTER_OTLP_PROTOCOL" envDefault:"http/protobuf"`
	ServiceName        string  `env:"OTEL_SERVICE_NAME"           envDefault:"chain-access-gateway"`
	TracesSampler      string  `env:"OTEL_TRACES_SAMPLER"         envDefault:"parentbased_always_on"`
	TracesSamplerArg   float64 `env:"OTEL_TRACES_SAMPLER_ARG"     envDefault:"1"`
	TraceFollowClients bool    `env:"TRACE_FOLLOW_CLIENTS"        envDefault:"false"`

	// TrustedGateways are off-chain name gateways (EIP-3668), as host:port separated by spaces,
	// which may have addresses that are not public. No variable sets it: gateway-dev trusts its
	// sandbox, and production trusts none.
	TrustedGateways string
}

// Role determines which variables are required.
type Role uint8

// The roles of the production program.
const (
	Serve Role = iota
	Worker
	Migrate
	Ops       // reads and changes the state of upstreams
	OpsRecord // reads and changes accounts, and audits their books
	OpsPaid   // reads payments per call
	OpsFlows  // resumes the durable flows of payments
	OpsStripe // creates or checks products and prices at Stripe
	OpsDesk   // answers tickets, feedback and wishes, and queues mails
)

// minPepper is the length of the shortest accepted pepper: 256 bits are 43 characters in base64, 64
// in hex.
const minPepper = 32

// minToken is the length of the shortest accepted PROFILE_TOKEN.
const minToken = 16

// FromEnvironment reads and validates what role needs. The error names every invalid variable and
// never contains a value. A variable that is set to the empty string counts as not set.
func FromEnvironment(role Role) (Config, error) {
	return fromMap(role, env.ToMap(os.Environ()))
}

func fromMap(role Role, environment map[string]string) (Config, error) {
	c, err := env.ParseAsWithOptions[Config](env.Options{Environment: environment})
	if err != nil {
		return Config{}, nameVariables(err)
	}
	for _, base := range []*string{
		&c.PublicURL, &c.SourcifyURL, &c.SignaturesURL, &c.X402FacilitatorURL, &c.StripeAPIURL,
	} {
		*base = strings.TrimRight(*base, "/") // paths are appended to it
	}
	if err := c.validate(role); err != nil {
		return Config{}, err
	}
	return c, nil
}

// AgentHosts returns the names in MCPHosts.
func (c *Config) AgentHosts() []string {
	return strings.FieldsFunc(c.MCPHosts, func(r rune) bool { return r == ',' || r == ' ' })
}

// NetworkFigures parses NetworkLimits.
func (c *Config) NetworkFigures() (netlimit.Figures, error) {
	figures, err := netlimit.Parse(c.NetworkLimits)
	if err != nil {
		return nil, fmt.Errorf("NETWORK_LIMITS %w", err)
	}
	return figures, nil
}

// faults collects errors, each of which names its variable.
type faults []error

func (f *faults) need(name, value, how string) {
	if value == "" {
		*f = append(*f, fmt.Errorf("%s is not set: %s", name, how))
	}
}

func (f *faults) check(ok bool, name, rule string) {
	if !ok {
		*f = append(*f, fmt.Errorf("%s %s", name, rule))
	}
}

func (c *Config) validate(role Role) error {
	var f faults
	if role != Ops && role != OpsStripe {
		f.need("DATABASE_URL", c.DatabaseURL, "give PostgreSQL as postgres://user:password@host:5432/database")
	}
	f.check(role == Ops || role == OpsStripe || c.DatabaseURL == "" ||
		hasScheme(c.DatabaseURL, "postgres", "postgresql"), "DATABASE_URL", "must start with postgres://")
	switch role {
	case Migrate, OpsPaid: // they need only the database
	case OpsFlows:
		c.checkTemporal(&f)
		c.checkPayments(&f)
	case Ops:
		c.checkBoard(&f)
	case OpsStripe:
		f.need("STRIPE_SECRET_KEY", c.StripeSecretKey,
			"give a secret key of Stripe, from the dashboard's page of API keys")
		c.checkStripe(&f)
		c.checkPublic(&f)
	case OpsRecord:
		c.checkRedis(&f)
	case OpsDesk:
		c.checkMailed(&f)
	case Serve:
		c.checkShared(&f)
		c.checkServe(&f)
	case Worker:
		c.checkShared(&f)
		f.check(c.ProbeInterval >= 500*time.Millisecond && c.ProbeInterval <= time.Minute, "PROBE_INTERVAL",
			"must be between 500ms and 1m")
		c.checkMail(&f)
	}
	return errors.Join(f...)
}

// RedisCertificates returns the TLS files for the connection to REDIS_URL.
func (c *Config) RedisCertificates() redisconn.Certificates {
	return redisconn.Certificates{
		CAFile: c.RedisTLSCAFile, CertFile: c.RedisTLSCertFile, KeyFile: c.RedisTLSKeyFile, ServerName: c.RedisTLSName,
	}
}

// firstTLS returns the name of a variable of RedisCertificates that is set; empty for none.
func (c *Config) firstTLS() string {
	switch {
	case c.RedisTLSCAFile != "":
		return "REDIS_TLS_CA_FILE"
	case c.RedisTLSCertFile != "":
		return "REDIS_TLS_CERT_FILE"
	case c.RedisTLSKeyFile != "":
		return "REDIS_TLS_KEY_FILE"
	}
	return "REDIS_TLS_SERVER_NAME"
}

// checkBoard checks Redis, which holds the board, and the path of the upstreams file.
func (c *Config) checkBoard(f *faults) {
	c.checkRedis(f)
	f.need("UPSTREAMS_FILE", c.UpstreamsFile,
		"give the path of the upstreams file; upstreams.example.yaml is one to start from")
}

// checkRedis checks the connection to the Redis of the meter and the board.
func (c *Config) checkRedis(f *faults) {
	f.need("REDIS_URL", c.RedisURL, "give Redis as redis://host:6379/0")
	if c.RedisURL != "" {
		where, err := redisconn.Parse(c.RedisURL)
		if err != nil {
			*f = append(*f, fmt.Errorf("REDIS_URL %w", err))
		} else {
			f.check(where.TLS() || !c.RedisCertificates().Any(), c.firstTLS(),
				"must be left out: the connection to REDIS_URL is encrypted only with rediss")
		}
	}
	f.check((c.RedisTLSCertFile == "") == (c.RedisTLSKeyFile == ""), "REDIS_TLS_CERT_FILE",
		"must come together with REDIS_TLS_KEY_FILE")
}

// checkShared checks what both long-running roles need.
func (c *Config) checkShared(f *faults) {
	c.checkBoard(f)
	f.check(validAddress(c.MetricsAddress), "METRICS_ADDRESS", "must be HOST:PORT or :PORT")
	f.check(c.ProfileToken == "" || len(c.ProfileToken) >= minToken, "PROFILE_TOKEN",
		"must be at least 16 characters long; openssl rand -hex 24 makes one")
	c.checkTemporal(f)
	c.checkMailed(f)
	f.check(c.CallRecordsDays >= 2 && c.CallRecordsDays <= 366, "CALL_RECORDS_DAYS",
		"must be between 2, of which the audit reads, and 366")
	f.check(c.LogFormat == "json" || c.LogFormat == "text", "LOG_FORMAT", "must be json or text")
	c.checkPayments(f)
	c.checkStripe(f)
	c.checkTraces(f)
}

// checkMailed checks what the contents of mails need.
func (c *Config) checkMailed(f *faults) {
	f.need("KEY_PEPPER", c.KeyPepper, "give a secret of at least 32 characters; openssl rand -base64 32 makes one")
	f.check(c.KeyPepper == "" || len(c.KeyPepper) >= minPepper, "KEY_PEPPER", "must be at least 32 characters long")
	c.checkPublic(f)
	f.check(bareAddress(c.Contact), "CONTACT", "must be an e-mail address: mails name it for questions")
}

// checkPublic checks the public URL.
func (c *Config) checkPublic(f *faults) {
	f.check(validBase(c.PublicURL), "PUBLIC_URL", "must be an http:// or https:// address without a query")
	f.check(!validBase(c.PublicURL) || guarded(c.PublicURL), "PUBLIC_URL",
		"must begin with https:// unless its host is this machine: session cookies and keys pass there")
}

// checkTemporal checks the address of Temporal.
func (c *Config) checkTemporal(f *faults) {
	f.need("TEMPORAL_ADDRESS", c.TemporalAddress, "give Temporal as host:7233")
	f.check(c.TemporalAddress == "" || validTarget(c.TemporalAddress), "TEMPORAL_ADDRESS", "must be HOST:PORT")
}

// checkServe checks what only the API needs.
func (c *Config) checkServe(f *faults) {
	f.check(validAddress(c.ListenAddress), "LISTEN_ADDRESS", "must be HOST:PORT or :PORT")
	f.check(c.TrustedProxies >= 0 && c.TrustedProxies <= 10, "TRUSTED_PROXIES", "must be between 0 and 10")
	f.check(len(c.AgentHosts()) <= 20 && !slices.ContainsFunc(c.AgentHosts(), func(h string) bool {
		return h != "*" && !hostName.MatchString(h)
	}),
		"MCP_HOSTS", "must be host names separated by commas, without ports, at most 20, or *")
	f.check(c.MaxBodyBytes >= 1024 && c.MaxBodyBytes <= 64<<20, "MAX_BODY_BYTES", "must be between 1024 and 67108864")
	f.check(c.MaxAnswerBytes >= 1<<20, "MAX_ANSWER_BYTES", "must be at least 1048576")
	f.check(c.BatchMemoryBytes >= 32<<20, "BATCH_MEMORY_BYTES", "must be at least 33554432, which one batch may take")
	f.check(c.CacheBytes == 0 || (c.CacheBytes >= 1<<20 && c.CacheBytes <= 1<<40), "CACHE_BYTES",
		"must be 0 or between 1048576 and 1099511627776")
	c.checkCache(f)
	f.check(c.MaxConnections >= 0 && c.MaxConnections <= 1<<20, "MAX_CONNECTIONS",
		"must be between 0, for no bound, and 1048576")
	f.check(c.MaxConnectionsPerAddress >= 0 && c.MaxConnectionsPerAddress <= 1<<20, "MAX_CONNECTIONS_PER_ADDRESS",
		"must be between 0, for no bound, and 1048576")
	if _, err := c.NetworkFigures(); err != nil {
		*f = append(*f, err)
	}
	if _, err := c.LogBlocksByPlan(); err != nil {
		*f = append(*f, err)
	}
	f.check(c.CallRecordsBuffer >= 1000 && c.CallRecordsBuffer <= 10_000_000, "CALL_RECORDS_BUFFER",
		"must be between 1000 and 10000000")
	f.check(c.CallRecordsDelay >= 10*time.Millisecond && c.CallRecordsDelay <= time.Minute, "CALL_RECORDS_DELAY",
		"must be between 10ms and 1m")
	f.check(c.CallTimeout >= time.Second && c.CallTimeout <= 5*time.Minute, "CALL_TIMEOUT", "must be between 1s and 5m")
	f.check(c.PriceHeartbeat >= time.Minute && c.PriceHeartbeat <= 48*time.Hour, "PRICE_HEARTBEAT",
		"must be between 1m and 48h")
	f.check(c.DrainDelay >= 0 && c.DrainDelay <= time.Minute, "DRAIN_DELAY", "must be between 0s and 1m")
	f.check(c.DrainTimeout >= time.Second && c.DrainTimeout <= 10*time.Minute, "DRAIN_TIMEOUT",
		"must be between 1s and 10m")
	f.check(validBase(c.SourcifyURL), "SOURCIFY_URL", "must be an http:// or https:// address without a query")
	f.check(validBase(c.SignaturesURL), "SIGNATURES_URL", "must be an http:// or https:// address without a query")
	c.checkFacilitator(f)
	c.checkWebhooks(f)
	c.checkCountry(f)
}

// checkCache checks the address of the cache's Redis, which must be a single server and none of the
// meter's.
func (c *Config) checkCache(f *faults) {
	if c.CacheRedisURL == "" {
		return
	}
	stored, err := redisconn.Parse(c.CacheRedisURL)
	if err != nil || !stored.Single() {
		f.check(false, "CACHE_REDIS_URL", "must be one server, which starts with redis://, rediss:// or unix://")
		return
	}
	metered, err := redisconn.Parse(c.RedisURL)
	f.check(err != nil || !stored.Shares(metered), "CACHE_REDIS_URL",
		"must be another server than REDIS_URL: the meter's evicts nothing, so stored answers would fill it")
}

func hasScheme(address string, schemes ...string) bool {
	u, err := url.Parse(address)
	return err == nil && slices.Contains(schemes, u.Scheme) // url.Parse lowercases the scheme
}

// validBase reports whether paths can be appended to the address.
func validBase(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" &&
		u.User == nil && u.RawQuery == "" && u.Fragment == ""
}

// guarded reports whether traffic to the address is encrypted or stays on this machine.
func guarded(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "https" {
		return err == nil
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || (err == nil && ip.IsLoopback())
}

func validAddress(a string) bool {
	_, port, err := net.SplitHostPort(a)
	if err != nil || port == "" {
		return false
	}
	_, err = net.LookupPort("tcp", port) //nolint:noctx // a numeric port needs no lookup
	return err == nil
}

// validTarget reports whether the address is a host and a port, optionally after gRPC's dns:///
// resolver.
func validTarget(a string) bool {
	host, _, err := net.SplitHostPort(strings.TrimPrefix(a, "dns:///"))
	return err == nil && host != "" && validAddress(strings.TrimPrefix(a, "dns:///"))
}

// nameVariables replaces the library's error about a field with one that names the variable and
// omits the value.
func nameVariables(err error) error {
	list, ok := errors.AsType[env.AggregateError](err)
	if !ok {
		return fmt.Errorf("read the environment: %w", err)
	}
	fields := reflect.TypeFor[Config]()
	var faults []error
	for _, e := range list.Errors {
		if parse, ok := errors.AsType[env.ParseError](e); ok {
			if f, ok := fields.FieldByName(parse.Name); ok {
				faults = append(faults, fmt.Errorf("%s must be %s", f.Tag.Get("env"), describe(f.Type)))
				continue
			}
		}
		faults = append(faults, e)
	}
	return errors.Join(faults...)
}

func describe(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[time.Duration]():
		return "a duration such as 500ms, 30s or 5m"
	case reflect.TypeFor[slog.Level]():
		return "debug, info, warn or error"
	case reflect.TypeFor[bool]():
		return "true or false"
	case reflect.TypeFor[float64]():
		return "a number"
	default:
		return "a whole number"
	}
}
