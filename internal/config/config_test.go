package config

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

// environment returns a map with which every role starts, with some variables changed.
func environment(changes map[string]string) map[string]string {
	e := map[string]string{
		"DATABASE_URL":     "postgres://gateway:pass-canary@db.internal:5432/gateway",
		"REDIS_URL":        "redis://:pass-canary@redis.internal:6379/0",
		"TEMPORAL_ADDRESS": "temporal.internal:7233",
		"KEY_PEPPER":       "pepper-canary-pepper-canary-pepper-canary",
		"UPSTREAMS_FILE":   "/etc/gateway/upstreams.yaml",
	}
	maps.Copy(e, changes)
	return e
}

func TestConfig_EveryRoleStartsOnItsRequiredVariables(t *testing.T) {
	t.Parallel()
	for role, needed := range map[Role][]string{
		Serve:   {"DATABASE_URL", "REDIS_URL", "TEMPORAL_ADDRESS", "KEY_PEPPER", "UPSTREAMS_FILE"},
		Worker:  {"DATABASE_URL", "REDIS_URL", "TEMPORAL_ADDRESS", "KEY_PEPPER", "UPSTREAMS_FILE"},
		Migrate: {"DATABASE_URL"},
		Ops:     {"REDIS_URL", "UPSTREAMS_FILE"},

		OpsRecord: {"DATABASE_URL", "REDIS_URL"},
		OpsPaid:   {"DATABASE_URL"},
		OpsFlows:  {"DATABASE_URL", "TEMPORAL_ADDRESS"},
		OpsStripe: {"STRIPE_SECRET_KEY"},
		OpsDesk:   {"DATABASE_URL", "KEY_PEPPER"},
	} {
		t.Run(fmt.Sprint(role), func(t *testing.T) {
			all, e := environment(map[string]string{"STRIPE_SECRET_KEY": "sk_test_1"}), map[string]string{}
			for _, name := range needed {
				e[name] = all[name]
			}
			if _, err := fromMap(role, e); err != nil {
				t.Errorf("role %d does not start on what it needs: %v", role, err)
			}
			for _, name := range needed {
				for what, without := range map[string]map[string]string{
					"unset": maps.Clone(e),
					"empty": maps.Clone(e),
				} {
					delete(without, name)
					if what == "empty" {
						without[name] = ""
					}
					_, err := fromMap(role, without)
					in := expect.In(t, "role %d with %s %s", role, name, what)
					require.Error(in, err)
					expect.HasPrefix(in, err.Error(), name+" is not set: ")
					expect.NotContains(in, err.Error(), "\n")
				}
			}
		})
	}
}

func TestConfig_DefaultsAreThoseOfTheTags(t *testing.T) {
	t.Parallel()
	// A variable that is set to nothing counts as not set: Compose files pass empty ones on.
	c, err := fromMap(Serve, environment(map[string]string{"CALL_TIMEOUT": "", "LOG_LEVEL": "", "LISTEN_ADDRESS": ""}))
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		DatabaseURL: c.DatabaseURL, RedisURL: c.RedisURL, TemporalAddress: c.TemporalAddress, KeyPepper: c.KeyPepper,
		UpstreamsFile: c.UpstreamsFile, TemporalNamespace: "default", ListenAddress: ":8080",
		MetricsAddress: "127.0.0.1:9464", SourcifyURL: "https://sourcify.dev",
		SignaturesURL: "https://api.4byte.sourcify.dev", PublicURL: "http://localhost:8080",
		Contact: "support@chainaccess.example", MaxBodyBytes: 4 << 20, MaxAnswerBytes: 512 << 20, CacheBytes: 64 << 20,
		BatchMemoryBytes: 256 << 20, MaxConnections: 16384, MaxConnectionsPerAddress: 512, CallRecordsBuffer: 200_000,
		CallRecordsDelay: 250 * time.Millisecond, CallRecordsDays: 30, CallTimeout: 30 * time.Second,
		ProbeInterval: 5 * time.Second, PriceHeartbeat: time.Hour, DrainDelay: 3 * time.Second,
		DrainTimeout: 35 * time.Second, ServiceTitle: "Chain Access Gateway", X402Asset: USDCOnBase,
		X402AssetName: "USD Coin", X402AssetVersion: "2", X402MinConfirmations: 2, X402CorroborateAbove: 1_000_000,
		X402FinalityDelay: 20 * time.Minute, LogFormat: "json", OTLPProtocol: "http/protobuf",
		ServiceName: "chain-access-gateway", TracesSampler: "parentbased_always_on", TracesSamplerArg: 1,
	}
	if c != want {
		t.Errorf("got %+v\nwant %+v", c, want)
	}
}

func TestConfig_ValuesAreTakenOver(t *testing.T) {
	t.Parallel()
	c, err := fromMap(Serve, environment(map[string]string{
		"PUBLIC_URL": "https://rpc.example.org/", "SOURCIFY_URL": "http://sourcify.internal:5555/",
		"SIGNATURES_URL": "https://names.example/4byte//", "TRUSTED_PROXIES": "2", "MAX_BODY_BYTES": "2048",
		"CALL_TIMEOUT": "5s", "PRICE_HEARTBEAT": "24h", "LOG_LEVEL": "debug", "LOG_FORMAT": "text",
		"REDIS_URL": "rediss://redis.internal:6380/1", "LISTEN_ADDRESS": "[::1]:0",
	}))
	if err != nil {
		t.Fatal(err)
	}
	if c.PublicURL != "https://rpc.example.org" {
		t.Errorf("public URL is %q, want it without the slash that paths begin with", c.PublicURL)
	}
	if c.SourcifyURL != "http://sourcify.internal:5555" || c.SignaturesURL != "https://names.example/4byte" {
		t.Errorf("Sourcify is at %q, signatures at %q, want them without slashes at their ends", c.SourcifyURL,
			c.SignaturesURL)
	}
	expect.Equal(t, c.TrustedProxies, 2)
	expect.Equal(t, c.MaxBodyBytes, 2048)
	expect.Equal(t, c.CallTimeout, 5*time.Second)
	expect.Equal(t, c.PriceHeartbeat, 24*time.Hour)
	expect.Equal(t, c.LogLevel, slog.LevelDebug)
	expect.Equal(t, c.LogFormat, "text")
	expect.Equal(t, c.RedisURL, "rediss://redis.internal:6380/1")
	expect.Equal(t, c.ListenAddress, "[::1]:0")
}

func TestConfig_BadValueIsNamedByItsVariableWithoutTheValue(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		role            Role
		variable, value string
		rule            string // a part of the message
	}{
		{Migrate, "DATABASE_URL", "mysql://canary@host/db", "postgres://"},
		{Migrate, "DATABASE_URL", "host=canary dbname=x", "postgres://"},
		{Migrate, "DATABASE_URL", "postgres://canary:%zz@host/db", "postgres://"},
		{Serve, "REDIS_URL", "http://canary:6379", "redis://"},
		{Serve, "REDIS_URL", "canary:6379", "redis://"},
		{Ops, "REDIS_URL", "redis+sentinel://:canary@sentinel.internal", "?master_name=NAME"},
		{Worker, "REDIS_URL", "redis+cluster://:canary@a.internal/1", "no path"},
		{Serve, "REDIS_TLS_CA_FILE", "/canary.pem", "rediss"},
		{Worker, "REDIS_TLS_CERT_FILE", "/canary.pem", "rediss"},
		{Ops, "REDIS_TLS_KEY_FILE", "/canary.pem", "rediss"},
		{Serve, "REDIS_TLS_SERVER_NAME", "canary.internal", "rediss"},
		{Serve, "CACHE_REDIS_URL", "http://canary:6379", "redis://"},
		{Serve, "CACHE_REDIS_URL", "redis+cluster://canary:6379", "one server"},
		{Serve, "CACHE_REDIS_URL", "redis+sentinel://canary?master_name=m", "one server"},
		{Serve, "CACHE_REDIS_URL", "redis://canary@REDIS.internal/3", "another server than REDIS_URL"},
		{Serve, "CACHE_BYTES", "1048575", "between 1048576 and"},
		{Serve, "CACHE_BYTES", "-1", "must be 0 or between"},
		{Serve, "CACHE_BYTES", "1099511627777", "and 1099511627776"},
		{Serve, "CACHE_BYTES", "canary", "a whole number"},
		{Serve, "KEY_PEPPER", "canary-that-is-too-short", "32 characters"},
		{Serve, "LISTEN_ADDRESS", "canary", "HOST:PORT"},
		{Serve, "LISTEN_ADDRESS", "canary:", "HOST:PORT"},
		{Serve, "LISTEN_ADDRESS", "canary:70000", "HOST:PORT"},
		{Serve, "LISTEN_ADDRESS", "canary:-1", "HOST:PORT"},
		{Serve, "METRICS_ADDRESS", "canary", "HOST:PORT"},
		{Worker, "METRICS_ADDRESS", "canary", "HOST:PORT"},
		{Serve, "PROFILE_TOKEN", "canary", "16 characters"},
		{Worker, "PROFILE_TOKEN", "canary", "16 characters"},
		{Serve, "PUBLIC_URL", "canary.example.org", "http://"},
		{Serve, "PUBLIC_URL", "ftp://canary", "http://"},
		{Serve, "PUBLIC_URL", "https://?canary", "http://"},
		{Serve, "PUBLIC_URL", "https://user:canary@host", "http://"},
		{Serve, "PUBLIC_URL", "https://host/?canary", "without a query"},
		{Serve, "PUBLIC_URL", "http://canary.example.org", "this machine"},
		{Serve, "PUBLIC_URL", "http://192.0.2.1:8080", "this machine"},
		{Serve, "TRUSTED_PROXIES", "canary", "a whole number"},
		{Serve, "TRUSTED_PROXIES", "-1", "between 0 and 10"},
		{Serve, "TRUSTED_PROXIES", "11", "between 0 and 10"},
		{Serve, "MCP_HOSTS", "rpc.example.org:443", "without ports"},
		{Serve, "MCP_HOSTS", strings.Repeat("a.example,", 21), "at most 20"},
		{Serve, "MAX_BODY_BYTES", "1MB-canary", "a whole number"},
		{Serve, "MAX_BODY_BYTES", "1023", "between 1024"},
		{Serve, "MAX_BODY_BYTES", "67108865", "between 1024"},
		{Serve, "MAX_ANSWER_BYTES", "1048575", "at least 1048576"},
		{Serve, "MAX_CONNECTIONS_PER_ADDRESS", "-1", "between 0, for no bound, and 1048576"},
		{Serve, "LOG_BLOCK_CAPS", "canary=2000", "must name plans among door1, wallet_bound"},
		{Serve, "LOG_BLOCK_CAPS", "pro=canary", "PLAN=BLOCKS"},
		{Serve, "LOG_BLOCK_CAPS", "pro", "PLAN=BLOCKS"},
		{Serve, "LOG_BLOCK_CAPS", "pro=999", "1000 to 10000 blocks"},
		{Serve, "LOG_BLOCK_CAPS", "pro=10001", "1000 to 10000 blocks"},
		{Serve, "LOG_BLOCK_CAPS", "pro=2000 pro=3000", "name pro once"},
		{Serve, "NETWORK_LIMITS", "canary=1/2/3", "name actions among challenges, invitations"},
		{Serve, "NETWORK_LIMITS", "wishes=1/2", "wishes=ADDRESS/AREA/WHOLE"},
		{Serve, "NETWORK_LIMITS", "wishes=canary/2/3", "whole numbers between 0"},
		{Serve, "NETWORK_LIMITS", "wishes=5/4/100", "at least what one of its addresses may"},
		{Serve, "NETWORK_LIMITS", "wishes=5/0/4", "at least what one of its addresses may"},
		{Serve, "NETWORK_LIMITS", "new_keys=4/60/1000", "the interface promises"},
		{Serve, "CALL_TIMEOUT", "30-canary", "a duration"},
		{Serve, "CALL_TIMEOUT", "30", "a duration"},
		{Serve, "CALL_TIMEOUT", "999ms", "between 1s and 5m"},
		{Serve, "PRICE_HEARTBEAT", "59s", "between 1m and 48h"},
		{Serve, "CALL_RECORDS_BUFFER", "999", "between 1000 and 10000000"},
		{Serve, "CALL_RECORDS_DELAY", "9ms", "between 10ms and 1m"},
		{Serve, "CALL_RECORDS_DELAY", "61s", "between 10ms and 1m"},
		{Serve, "CALL_RECORDS_DAYS", "1", "between 2,"},
		{Worker, "CALL_RECORDS_DAYS", "367", "between 2,"},
		{Serve, "PRICE_HEARTBEAT", "49h", "between 1m and 48h"},
		{Serve, "CALL_TIMEOUT", "301s", "between 1s and 5m"},
		{Serve, "SERVICE_TITLE", "canary\ngateway", "one line"},
		{Worker, "SERVICE_TITLE", " canary", "without spaces at its ends"},
		{Serve, "SERVICE_TITLE", strings.Repeat("canary", 11), "1 to 60"},
		{Serve, "SERVICE_TITLE", "\xffcanary", "one line"},
		{Serve, "X402_PAY_TO", "canary", "0x and 40"},
		{Serve, "X402_PAY_TO", "0x70997970c51812dc3A010C7d01b50e0d17dc79C8", "checksum"},
		{Worker, "X402_PAY_TO", "0x70997970C51812DC3A010C7D01B50E0D17DC79C8", "checksum"},
		{Worker, "X402_PAY_TO", "0x0000000000000000000000000000000000000000", "zero address"},
		{Serve, "X402_PAY_TO", strings.ToLower(USDCOnBase), "another address than X402_ASSET"},
		{Serve, "X402_ASSET", "USDC-canary", "0x and 40"},
		{Worker, "X402_ASSET", "0x0000000000000000000000000000000000000000", "zero address"},
		{Serve, "X402_MIN_CONFIRMATIONS", "1001", "between 0 and 1000"},
		{Serve, "X402_MIN_CONFIRMATIONS", "-1", "a whole number"},
		{Serve, "X402_CORROBORATE_ABOVE", "-1", "between 0 and 1000000000000"},
		{Worker, "X402_CORROBORATE_ABOVE", "1000000000001", "between 0 and 1000000000000"},
		{Worker, "X402_CORROBORATE_ABOVE", "1.5", "a whole number"},
		{Worker, "X402_FINALITY_DELAY", "999ms", "between 1s and 24h"},
		{Worker, "X402_FINALITY_DELAY", "25h", "between 1s and 24h"},
		{Serve, "X402_FACILITATOR_URL", "https://facilitator.example", "X402_PAY_TO is not set"},
		{Serve, "STRIPE_API_URL", "https://stripe.example", "STRIPE_SECRET_KEY is not set"},
		{Serve, "STRIPE_WEBHOOK_SECRET", "whsec_canary", "STRIPE_SECRET_KEY is not set"},
		{Worker, "STRIPE_SECRET_KEY", "pk_live_canary", "begins with sk_"},
		{Worker, "STRIPE_SECRET_KEY", "sk_live_canary\nX: y", "begins with sk_"},
		{OpsStripe, "STRIPE_SECRET_KEY", "whsec_canary", "begins with sk_"},
		{Serve, "COUNTRY_HEADER", "CF-IPCountry", "TRUSTED_PROXIES is 0"},
		{Serve, "COUNTRY_HEADER", "canary country", "name of a header"},
		{Serve, "COUNTRY_HEADER", "x-forwarded-for", "name of a header"},
		{Serve, "OTEL_EXPORTER_OTLP_ENDPOINT", "canary:4317", "http://"},
		{Worker, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "grpc://canary", "http://"},
		{Serve, "OTEL_EXPORTER_OTLP_HEADERS", "Authorization", "name=value"},
		{Serve, "OTEL_EXPORTER_OTLP_HEADERS", "a=%zzcanary", "name=value"},
		{Serve, "OTEL_EXPORTER_OTLP_HEADERS", "a=b%0d%0acanary", "name=value"},
		{Worker, "OTEL_EXPORTER_OTLP_PROTOCOL", "grpc-canary", "http/protobuf"},
		{Serve, "OTEL_TRACES_SAMPLER", "jaeger_remote_canary", "one of always_on"},
		{Serve, "OTEL_TRACES_SAMPLER_ARG", "canary", "a number"},
		{Serve, "OTEL_TRACES_SAMPLER_ARG", "1.5", "between 0 and 1"},
		{Serve, "TRACE_FOLLOW_CLIENTS", "canary", "true or false"},
		{Serve, "DRAIN_DELAY", "-1s", "between 0s and 1m"},
		{Serve, "DRAIN_DELAY", "61s", "between 0s and 1m"},
		{Serve, "DRAIN_DELAY", "3", "a duration"},
		{Serve, "DRAIN_TIMEOUT", "0s", "between 1s and 10m"},
		{Serve, "DRAIN_TIMEOUT", "-1s", "between 1s and 10m"},
		{Serve, "SOURCIFY_URL", "sourcify.canary", "http:// or https://"},
		{Serve, "SOURCIFY_URL", "https://sourcify.canary/?chain=1", "without a query"},
		{Serve, "SOURCIFY_URL", "https://canary@sourcify.example", "http:// or https://"},
		{Serve, "SIGNATURES_URL", "ftp://canary.example", "http:// or https://"},
		{Worker, "PROBE_INTERVAL", "499ms", "between 500ms and 1m"},
		{Worker, "PROBE_INTERVAL", "61s", "between 500ms and 1m"},
		{Worker, "KEY_PEPPER", "canary-that-is-too-short", "32 characters"},
		{Worker, "PUBLIC_URL", "gateway-canary", "https://"},
		{Worker, "CONTACT", "https://canary.example", "e-mail address"},
		{Worker, "TEMPORAL_ADDRESS", "http://canary", "HOST:PORT"},
		{Worker, "TEMPORAL_ADDRESS", "canary", "HOST:PORT"},
		{Worker, "TEMPORAL_ADDRESS", ":7233", "HOST:PORT"},
		{OpsFlows, "TEMPORAL_ADDRESS", "http://canary", "HOST:PORT"},
		{OpsFlows, "X402_FINALITY_DELAY", "0s", "between 1s and 24h"},
		{Worker, "LOG_LEVEL", "canary", "debug, info, warn or error"},
		{Serve, "LOG_FORMAT", "canary", "json or text"},
	} {
		t.Run(tc.variable, func(t *testing.T) {
			got, err := fromMap(tc.role, environment(map[string]string{tc.variable: tc.value}))
			if err == nil {
				t.Errorf("%s=%s is taken", tc.variable, tc.value)
				return
			}
			if got != (Config{}) {
				t.Errorf("%s=%s gives a configuration beside the error", tc.variable, tc.value)
			}
			sentence := err.Error()
			if strings.Contains(tc.variable, "_TLS_") { // a certificate without its key is reported too
				sentence, _, _ = strings.Cut(sentence, "\n")
			}
			in := expect.In(t, "%s=%s", tc.variable, tc.value)
			expect.HasPrefix(in, sentence, tc.variable+" must ")
			expect.Contains(in, sentence, tc.rule)
			expect.NotContains(in, sentence, "\n")
			if strings.Contains(sentence, "canary") {
				t.Errorf("%s=%s: %q shows a value", tc.variable, tc.value, sentence)
			}
		})
	}
}

func TestConfig_PaymentAddressesNeedLowerCaseOrAChecksum(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"0x70997970C51812dc3A010C7d01b50e0d17dc79C8", "0x70997970c51812dc3a010c7d01b50e0d17dc79c8",
	} {
		e := environment(map[string]string{
			"X402_PAY_TO": address, "X402_FACILITATOR_URL": "https://facilitator.example/x402/", "TRUSTED_PROXIES": "1",
			"COUNTRY_HEADER": "CF-IPCountry", "X402_MIN_CONFIRMATIONS": "0", "X402_CORROBORATE_ABOVE": "0",
		})
		c, err := fromMap(Serve, e)
		if err != nil {
			t.Fatal(err)
		}
		in := expect.In(t, "%s", address)
		expect.True(in, c.SellsPerCall())
		expect.Equal(in, c.X402PayTo, address)
		expect.Equal(in, c.X402FacilitatorURL, "https://facilitator.example/x402")
	}
}

func TestConfig_FacilitatorNeedsEncryption(t *testing.T) {
	t.Parallel()
	for address, ok := range map[string]bool{
		"https://facilitator.example": true, "http://127.0.0.1:4021": true, "http://localhost:4021/x402": true,
		"http://facilitator.example": false, "https://user@facilitator.example": false, "facilitator.example": false,
	} {
		t.Run(address, func(t *testing.T) {
			_, err := fromMap(Serve, environment(map[string]string{
				"X402_FACILITATOR_URL": address, "X402_PAY_TO": "0x70997970c51812dc3a010c7d01b50e0d17dc79c8",
			}))
			if (err == nil) != ok || (err != nil && !strings.HasPrefix(err.Error(), "X402_FACILITATOR_URL must ")) {
				t.Error(err)
			}
		})
	}
}

func TestConfig_CacheMayNotShareAServerWithTheMeter(t *testing.T) {
	t.Parallel()
	for metered, stored := range map[string]string{
		"redis://redis.internal/0":                                "rediss://:pw@REDIS.internal:6379/1",
		"rediss://redis.internal:6380":                            "rediss://redis.internal:6380",
		"unix:///run/redis.sock":                                  "unix:///run/redis.sock?db=3",
		"redis+cluster://a.internal:7000?addr=b.internal:7001":    "redis://B.internal:7001",
		"rediss+cluster://u:pw@a.internal?addr=b.internal:7001":   "rediss://a.internal/0",
		"redis+cluster://[2001:db8::1]:7000?addr=b.internal:7001": "redis://[2001:db8::1]:7000",
	} {
		t.Run(metered, func(t *testing.T) {
			_, err := fromMap(Serve, environment(map[string]string{"REDIS_URL": metered, "CACHE_REDIS_URL": stored}))
			if err == nil || !strings.Contains(err.Error(), "CACHE_REDIS_URL must be another server") {
				t.Errorf("%s beside %s: %v", stored, metered, err)
			}
		})
	}
	for metered, stored := range map[string]string{
		"redis://redis.internal/0":                             "redis://redis.internal:6380/0",
		"unix:///run/redis.sock":                               "unix:///run/cache.sock",
		"redis+cluster://a.internal:7000?addr=b.internal:7001": "redis://c.internal:7000",
		"redis+sentinel://a.internal?master_name=m":            "redis://c.internal:6379",
	} {
		t.Run(metered, func(t *testing.T) {
			if _, err := fromMap(Serve,
				environment(map[string]string{"REDIS_URL": metered, "CACHE_REDIS_URL": stored})); err != nil {
				t.Errorf("%s beside %s: %v", stored, metered, err)
			}
		})
	}
}

func TestConfig_CertificateComesWithItsKey(t *testing.T) {
	t.Parallel()
	e := map[string]string{"REDIS_URL": "rediss://redis.internal", "REDIS_TLS_CERT_FILE": "/tls/cert.pem"}
	if _, err := fromMap(Ops, environment(e)); err == nil ||
		!strings.Contains(err.Error(), "REDIS_TLS_CERT_FILE must come together with") {
		t.Errorf("a certificate without its key gave %v", err)
	}
	e["REDIS_TLS_KEY_FILE"] = "/tls/key.pem"
	if _, err := fromMap(Ops, environment(e)); err != nil {
		t.Error(err)
	}
}

func TestConfig_NamesEveryVariableAtFaultAtOnce(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		changes map[string]string
		want    []string
	}{
		{
			map[string]string{"DATABASE_URL": "", "KEY_PEPPER": "short", "CALL_TIMEOUT": "1h"},
			[]string{"DATABASE_URL", "KEY_PEPPER", "CALL_TIMEOUT"},
		},
		{
			map[string]string{"CALL_TIMEOUT": "soon", "MAX_BODY_BYTES": "many", "LOG_LEVEL": "loud"},
			[]string{"CALL_TIMEOUT", "MAX_BODY_BYTES", "LOG_LEVEL"},
		},
	} {
		_, err := fromMap(Serve, environment(tc.changes))
		if err == nil {
			t.Errorf("%v is taken", tc.changes)
			continue
		}
		if lines := strings.Split(err.Error(), "\n"); len(lines) != len(tc.want) {
			t.Errorf("%v: %q, want %d lines", tc.changes, err, len(tc.want))
		}
		for _, name := range tc.want {
			if !strings.Contains(err.Error(), name) {
				t.Errorf("%v: %q does not name %s", tc.changes, err, name)
			}
		}
	}
}

func TestConfig_RolesDoNotRequireWhatTheyDoNotUse(t *testing.T) {
	t.Parallel()
	for role, changes := range map[Role]map[string]string{
		Serve: {"PROBE_INTERVAL": "1h", "SMTP_URL": "nonsense"},
		Worker: {
			"LISTEN_ADDRESS": "nonsense", "MAX_BODY_BYTES": "1", "SOURCIFY_URL": "nonsense",
			"COUNTRY_HEADER": "non sense", "X402_FACILITATOR_URL": "nonsense",
		},
		Ops:       {"DATABASE_URL": "nonsense", "KEY_PEPPER": "", "TEMPORAL_ADDRESS": "", "LOG_FORMAT": "nonsense"},
		OpsRecord: {"UPSTREAMS_FILE": "", "KEY_PEPPER": "", "TEMPORAL_ADDRESS": "", "LOG_FORMAT": "nonsense"},

		Migrate: {
			"KEY_PEPPER": "", "REDIS_URL": "", "TEMPORAL_ADDRESS": "", "UPSTREAMS_FILE": "",
			"LOG_FORMAT": "nonsense",
		},
	} {
		t.Run(fmt.Sprint(role), func(t *testing.T) {
			if _, err := fromMap(role, environment(changes)); err != nil {
				t.Errorf("role %d: %v", role, err)
			}
		})
	}
}

func TestConfig_StripeNeedsItsWebhookSecretWhereWebhooksArrive(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		role    Role
		changes map[string]string
		fault   string // how the error begins; empty for none
	}{
		"whole": {
			Serve, map[string]string{
				"STRIPE_SECRET_KEY": "rk_live_canary", "STRIPE_WEBHOOK_SECRET": "whsec_canary",
			}, "",
		},
		"no secret": {
			Serve, map[string]string{"STRIPE_SECRET_KEY": "sk_live_canary"}, "STRIPE_WEBHOOK_SECRET is not set: ",
		},
		"another secret": {
			Serve,
			map[string]string{"STRIPE_SECRET_KEY": "sk_live_canary", "STRIPE_WEBHOOK_SECRET": "canary"},
			"STRIPE_WEBHOOK_SECRET must ",
		},
		"the worker": {
			Worker, map[string]string{"STRIPE_SECRET_KEY": "sk_live_canary", "STRIPE_WEBHOOK_SECRET": "canary"}, "",
		},
		"on this machine": {
			Worker, map[string]string{
				"STRIPE_SECRET_KEY": "sk_test_canary", "STRIPE_API_URL": "http://127.0.0.1:1/dev/stripe/",
			}, "",
		},
		"without encryption": {
			Worker,
			map[string]string{"STRIPE_SECRET_KEY": "sk_test_canary", "STRIPE_API_URL": "http://canary.example"},
			"STRIPE_API_URL must ",
		},
		"no address at all": {
			Worker,
			map[string]string{"STRIPE_SECRET_KEY": "sk_test_canary", "STRIPE_API_URL": "canary"},
			"STRIPE_API_URL must ",
		},
		"setting up elsewhere": {
			OpsStripe,
			map[string]string{"STRIPE_SECRET_KEY": "sk_test_canary", "PUBLIC_URL": "http://canary.example"},
			"PUBLIC_URL must ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := fromMap(c.role, environment(c.changes))
			switch {
			case c.fault == "" && (err != nil || !got.TakesCards() || strings.HasSuffix(got.StripeAPIURL, "/")):
				t.Errorf("%v, takes cards %t at %s", err, got.TakesCards(), got.StripeAPIURL)
			case c.fault != "" && (err == nil || !strings.HasPrefix(err.Error(), c.fault) ||
				strings.Contains(err.Error(), "canary")):
				t.Errorf("%v, want %q and no value", err, c.fault)
			}
		})
	}
}

func TestConfig_PepperIsAsLongAsKeysNeedIt(t *testing.T) {
	t.Parallel()
	if minPepper != account.MinPepperBytes {
		t.Errorf("the configuration takes a pepper of %d bytes, keys need %d", minPepper, account.MinPepperBytes)
	}
}

// variables maps the environment variables of Config to their defaults.
func variables() map[string]string {
	found := map[string]string{}
	for f := range reflect.TypeFor[Config]().Fields() {
		if name := f.Tag.Get("env"); name != "" {
			found[name] = f.Tag.Get("envDefault")
		}
	}
	return found
}

func TestConfigurationPage_ListsEveryVariableWithItsDefault(t *testing.T) {
	t.Parallel()
	listed := map[string]string{}
	for line := range strings.Lines(readRoot(t, "docs/configuration.md")) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) < 4 || !strings.HasPrefix(strings.TrimSpace(cells[1]), "`") {
			continue
		}
		name := strings.Trim(cells[1], " `")
		if strings.ToUpper(name) != name || strings.ContainsAny(name, " /") {
			continue
		}
		listed[name] = strings.Trim(cells[2], " `")
	}
	for name, byDefault := range variables() {
		want := byDefault
		if want == "" {
			want = "–"
		}
		switch got, ok := listed[name]; {
		case !ok:
			t.Errorf("docs/configuration.md lacks %s", name)
		case got != want:
			t.Errorf("docs/configuration.md has %s with the default %q, the code %q", name, got, want)
		}
		delete(listed, name)
	}
	for name := range listed {
		t.Errorf("docs/configuration.md lists %s, which nothing reads", name)
	}
}

func TestConfig_ExampleStartsEveryRoleOnceThePepperIsSet(t *testing.T) {
	t.Parallel()
	e := map[string]string{}
	for line := range strings.Lines(readRoot(t, ".env.example")) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			t.Fatalf(".env.example has the line %q", line)
		}
		e[name] = value
	}
	for name := range variables() {
		if _, ok := e[name]; !ok {
			t.Errorf(".env.example lacks %s", name)
		}
	}
	if _, err := fromMap(Serve, e); err == nil || !strings.Contains(err.Error(), "KEY_PEPPER") {
		t.Errorf("the example starts without a secret of the operator's own: %v", err)
	}
	e["KEY_PEPPER"] = environment(nil)["KEY_PEPPER"]
	for _, role := range []Role{Serve, Worker, Migrate, Ops, OpsRecord} {
		if _, err := fromMap(role, e); err != nil {
			t.Errorf("role %d: %v", role, err)
		}
	}
}

func readRoot(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", name)) //nolint:gosec // a file of this repository
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
