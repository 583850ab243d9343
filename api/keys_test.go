package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/chainaccess/gateway/identity/account"
)

// welcome holds the fields of a new key that a client reads.
type welcome struct {
	Key       string                    `json:"key"`
	KeyPrefix string                    `json:"key_prefix"`
	Door      string                    `json:"door"`
	Fences    map[string]any            `json:"fences"`
	Doorways  map[string]map[string]any `json:"doorways"`
	Terms     map[string]string         `json:"terms"`
	Skill     string                    `json:"skill"`
}

// newKey creates a key; headers as in ask.
func (g *gateway) newKey(headers ...string) answer {
	g.t.Helper()
	return g.ask(http.MethodPost, "/keys", "", "", headers...)
}

func (a answer) welcome() welcome {
	a.t.Helper()
	var w welcome
	if err := json.Unmarshal([]byte(a.body), &w); err != nil || a.status != http.StatusCreated {
		a.t.Fatalf("got HTTP %d %s", a.status, a.body)
	}
	return w
}

func TestNewKeys_AnonymousKeyComesWithItsFencesAndDoorways(t *testing.T) {
	t.Parallel()
	g := setup(t)
	a := g.newKey()
	w := a.welcome()
	if _, ok := account.ParseKey(w.Key); !ok || w.KeyPrefix != w.Key[:12] || w.Door != "public" {
		t.Errorf("the welcome is %+v", w)
	}
	if w.Fences["units_per_day"] != 10_000.0 || w.Fences["requests_per_second"] != 5.0 ||
		w.Fences["keys_per_address_and_day"] != 3.0 {
		t.Errorf("the fences are %v", w.Fences)
	}
	for _, way := range []string{"bind", "adopt", "pay_per_call", "buy_pack", "ticket", "wait", "another_key"} {
		if w.Doorways[way]["do"] == "" || w.Doorways[way]["past"] == "" {
			t.Errorf("the doorway %s is %v", way, w.Doorways[way])
		}
	}
	code, _ := w.Doorways["adopt"]["claim_code"].(string)
	if _, ok := account.ParseClaimCode(code); !ok || w.Doorways["adopt"]["open"] != true ||
		w.Doorways["pay_per_call"]["open"] != false {
		t.Errorf("the doorways are %v", w.Doorways)
	}
	if w.Terms["version"] != "2026-11-22" || w.Terms["url"] != "https://gateway.example/terms" ||
		w.Skill != "https://gateway.example/skill.md" {
		t.Errorf("terms %v, skill %s", w.Terms, w.Skill)
	}
	if a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("Cache-Control is %q", a.header.Get("Cache-Control"))
	}
	if strings.Count(a.body, w.Key) != 1 {
		t.Error("the key stands there more than once")
	}
	g.eth(w.Key, "eth_call").result()
	if strings.Contains(g.logs.String(), w.Key) || strings.Contains(g.logs.String(), code) {
		t.Error("the log holds the key, or its claim code")
	}
	g.newKey()
	if w := g.newKey().welcome(); w.Doorways["another_key"] != nil {
		t.Errorf("the third key promises a fourth: %v", w.Doorways)
	}
}

func TestNewKeys_ThreeADayForOneAddress(t *testing.T) {
	t.Parallel()
	g := setup(t)
	for range 3 {
		g.newKey().welcome()
	}
	for range 2 {
		a := g.newKey("X-Forwarded-For", "192.0.2.7") // not trusted without a trusted proxy
		data := a.refused(http.StatusTooManyRequests, -32024)
		if ways, _ := data["doorways"].(map[string]any); ways["wait"] == nil {
			t.Errorf("the doorways are %v", data["doorways"])
		}
		if a.header.Get("RateLimit-Limit") != "3" || a.header.Get("RateLimit-Remaining") != "0" {
			t.Errorf("the headers are %v", a.header)
		}
	}
}

func TestNewKeys_AddressIsTheOneThatTrustedProxiesLeave(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		proxies int
		three   []string // three requests of one network
		same    string   // a fourth one of the same
		other   string   // one of another
	}{
		{
			1,
			[]string{"192.0.2.1", "203.0.113.9, 192.0.2.1", "spoofed, 192.0.2.1:8080"},
			"192.0.2.2, 192.0.2.1",
			"192.0.2.1, 192.0.2.2",
		},
		{
			2,
			[]string{"192.0.2.1, 10.0.0.1", "x, 192.0.2.1, 10.0.0.2", "192.0.2.1 ,10.0.0.1"},
			"192.0.2.9, 192.0.2.1, 10.0.0.3", "192.0.2.1, 192.0.2.2, 10.0.0.1",
		},
		{
			1,
			[]string{"2001:db8:0:1::1", "2001:db8:0:1:ffff::2", "[2001:db8:0:1::3]:443"},
			"2001:db8:0:1::4",
			"2001:db8:0:2::1",
		},
		{1, []string{"::ffff:192.0.2.1", "192.0.2.1", "192.0.2.1"}, "::ffff:192.0.2.1", "::ffff:192.0.2.2"},
		// too few entries: the peer
		{2, []string{"192.0.2.1", "192.0.2.2", "nonsense, 10.0.0.1"}, "192.0.2.3", "192.0.2.3, 10.0.0.1"},
	} {
		g := setup(t, func(o *options) { o.proxies = row.proxies })
		for _, forwarded := range row.three {
			g.newKey("X-Forwarded-For", forwarded).welcome()
		}
		g.newKey("X-Forwarded-For", row.same).refused(http.StatusTooManyRequests, -32024)
		g.newKey("X-Forwarded-For", row.other).welcome()
	}
}

func TestNewKeys_ProxiesMaySendSeveralHeaders(t *testing.T) {
	t.Parallel()
	g := setup(t, func(o *options) { o.proxies = 1 })
	for range 3 {
		g.newKey("X-Forwarded-For", "198.51.100.1", "X-Forwarded-For", "192.0.2.1").welcome()
	}
	g.newKey("X-Forwarded-For", "192.0.2.1").refused(http.StatusTooManyRequests, -32024)
	g.newKey("X-Forwarded-For", "198.51.100.1").welcome()
}

func TestNewKeys_ConcurrentRequestsGetThree(t *testing.T) {
	t.Parallel()
	g := setup(t)
	var mu sync.Mutex
	var wg sync.WaitGroup
	made := 0
	for range 30 {
		wg.Go(func() {
			if a := g.newKey(); a.status == http.StatusCreated {
				mu.Lock()
				defer mu.Unlock()
				made++
			}
		})
	}
	wg.Wait()
	if made != 3 {
		t.Errorf("%d keys were made", made)
	}
}

func TestNewKeys_FailedOneDoesNotCount(t *testing.T) {
	t.Parallel()
	g := setup(t)
	g.newKey().welcome()
	g.dropDatabase()
	for range 5 {
		a := g.newKey()
		if a.refused(http.StatusServiceUnavailable, -32030); a.header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	}
	names, err := g.meter.Client().Keys(t.Context(), "*new_keys*").Result()
	g.must(err)
	if len(names) != 3 { // of the address, of its area, and in total
		t.Fatalf("the counts are %v", names)
	}
	for _, name := range names {
		if n, err := g.meter.Client().Get(t.Context(), name).Int(); err != nil || n != 1 {
			t.Errorf("the count %s is %d (%v), want the one key that was made", name, n, err)
		}
	}
}
