// Package config turns the environment and the upstreams file into validated values. It is the only place that reads the
// environment; a bad value stops the start with the variable's name.
package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"reflect"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
)

// Config is what the roles of the gateway are told by the environment. README lists the variables.
type Config struct {
	DatabaseURL       string        `env:"DATABASE_URL"`
	RedisURL          string        `env:"REDIS_URL"`
	TemporalAddress   string        `env:"TEMPORAL_ADDRESS"`
	TemporalNamespace string        `env:"TEMPORAL_NAMESPACE" envDefault:"default"`
	KeyPepper         string        `env:"KEY_PEPPER"`
	UpstreamsFile     string        `env:"UPSTREAMS_FILE"`
	ListenAddress     string        `env:"LISTEN_ADDRESS"     envDefault:":8080"`
	MetricsAddress    string        `env:"METRICS_ADDRESS"    envDefault:"127.0.0.1:9464"`
	PublicURL         string        `env:"PUBLIC_URL"         envDefault:"http://localhost:8080"`
	TrustedProxies    int           `env:"TRUSTED_PROXIES"    envDefault:"0"`
	Contact           string        `env:"CONTACT"            envDefault:"support@chainaccess.example"`
	MaxBodyBytes      int64         `env:"MAX_BODY_BYTES"     envDefault:"1048576"`
	MaxAnswerBytes    int64         `env:"MAX_ANSWER_BYTES"   envDefault:"536870912"`
	CallTimeout       time.Duration `env:"CALL_TIMEOUT"       envDefault:"30s"`
	ProbeInterval     time.Duration `env:"PROBE_INTERVAL"     envDefault:"5s"`
	DrainTimeout      time.Duration `env:"DRAIN_TIMEOUT"      envDefault:"35s"`
	CallRecordDays    int           `env:"CALL_RECORD_DAYS"   envDefault:"30"`
	LogLevel          slog.Level    `env:"LOG_LEVEL"          envDefault:"info"`
	LogFormat         string        `env:"LOG_FORMAT"         envDefault:"json"`
}

// Role says which variables must be there.
type Role uint8

// The roles of the production program.
const (
	Serve Role = iota
	Worker
	Migrate
)

// minPepper is the shortest pepper that is taken: 256 bits in base64 are 43 characters, in hex 64.
const minPepper = 32

// FromEnvironment reads and validates what role needs. The error names every variable at fault, never its value.
func FromEnvironment(role Role) (Config, error) {
	c, err := env.ParseAs[Config]()
	if err != nil {
		return Config{}, nameVariables(err)
	}
	return c, c.validate(role)
}

func (c Config) validate(role Role) error {
	var faults []error
	need := func(name, value, how string) {
		if value == "" {
			faults = append(faults, fmt.Errorf("%s is not set: %s", name, how))
		}
	}
	check := func(ok bool, name, rule string) {
		if !ok {
			faults = append(faults, fmt.Errorf("%s %s", name, rule))
		}
	}
	need("DATABASE_URL", c.DatabaseURL, "give PostgreSQL as postgres://user:password@host:5432/database")
	check(c.DatabaseURL == "" || hasScheme(c.DatabaseURL, "postgres", "postgresql"), "DATABASE_URL", "must start with postgres://")
	if role == Migrate {
		return errors.Join(faults...)
	}
	need("REDIS_URL", c.RedisURL, "give Redis as redis://host:6379/0")
	check(c.RedisURL == "" || hasScheme(c.RedisURL, "redis", "rediss", "unix"), "REDIS_URL", "must start with redis://, rediss:// or unix://")
	need("UPSTREAMS_FILE", c.UpstreamsFile, "give the path of the upstreams file; upstreams.example.yaml is one to start from")
	if role == Serve {
		need("KEY_PEPPER", c.KeyPepper, "give a secret of at least 32 characters; openssl rand -base64 32 makes one")
		check(c.KeyPepper == "" || len(c.KeyPepper) >= minPepper, "KEY_PEPPER", "must be at least 32 characters long")
		check(validAddress(c.ListenAddress), "LISTEN_ADDRESS", "must be HOST:PORT or :PORT")
		check(hasScheme(c.PublicURL, "http", "https"), "PUBLIC_URL", "must be an http:// or https:// address")
	}
	if role == Worker {
		need("TEMPORAL_ADDRESS", c.TemporalAddress, "give Temporal as host:7233")
	}
	check(validAddress(c.MetricsAddress), "METRICS_ADDRESS", "must be HOST:PORT or :PORT")
	check(c.TrustedProxies >= 0 && c.TrustedProxies <= 10, "TRUSTED_PROXIES", "must be between 0 and 10")
	check(c.MaxBodyBytes >= 1024 && c.MaxBodyBytes <= 64<<20, "MAX_BODY_BYTES", "must be between 1024 and 67108864")
	check(c.MaxAnswerBytes >= 1<<20, "MAX_ANSWER_BYTES", "must be at least 1048576")
	check(c.CallTimeout >= time.Second && c.CallTimeout <= 5*time.Minute, "CALL_TIMEOUT", "must be between 1s and 5m")
	check(c.ProbeInterval >= 500*time.Millisecond && c.ProbeInterval <= time.Minute, "PROBE_INTERVAL", "must be between 500ms and 1m")
	check(c.DrainTimeout > 0 && c.DrainTimeout <= 10*time.Minute, "DRAIN_TIMEOUT", "must be between 1ns and 10m")
	check(c.CallRecordDays >= 1 && c.CallRecordDays <= 3650, "CALL_RECORD_DAYS", "must be between 1 and 3650")
	check(c.LogFormat == "json" || c.LogFormat == "text", "LOG_FORMAT", "must be json or text")
	return errors.Join(faults...)
}

func hasScheme(address string, schemes ...string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	for _, s := range schemes {
		if strings.EqualFold(u.Scheme, s) {
			return true
		}
	}
	return false
}

func validAddress(a string) bool {
	_, port, err := net.SplitHostPort(a)
	if err != nil {
		return false
	}
	_, err = net.LookupPort("tcp", port) //nolint:noctx // a number is checked without the network
	return err == nil
}

// nameVariables turns the library's complaint about a field into one about its variable, without the value.
func nameVariables(err error) error {
	var list env.AggregateError
	if !errors.As(err, &list) {
		return fmt.Errorf("read the environment: %w", err)
	}
	fields := reflect.TypeFor[Config]()
	var faults []error
	for _, e := range list.Errors {
		var parse env.ParseError
		if errors.As(e, &parse) {
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
	default:
		return "a whole number"
	}
}
