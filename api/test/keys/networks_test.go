package keys_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/metering/netlimit"
)

// A /48 contains 65,536 networks, each of which may create three keys a day.
func TestNewKeys_OfOne48AreBoundTogether(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t, func(o *apitest.Options) { o.Proxies = 1 })
	made, refused := 0, 0
	for i := range 300 {
		a := g.NewKey("X-Forwarded-For", fmt.Sprintf("2001:db8:7:%x::1", i/3))
		if a.Status == http.StatusCreated {
			made++
			continue
		}
		refused++
		data := a.Refused(http.StatusTooManyRequests, -32024)
		if ways, _ := data["doorways"].(map[string]any); ways["wait"] == nil ||
			!strings.Contains(a.Body, "networks around yours") {
			t.Fatalf("the refusal says %s", a.Body)
		}
		if a.Header.Get("Retry-After") == "" || a.Header.Get("RateLimit-Limit") != "60" {
			t.Fatalf("the headers are %v", a.Header)
		}
	}
	if want := int(netlimit.Defaults()[netlimit.NewKeys].Area); made != want || refused != 300-want {
		t.Errorf("one /48 made %d keys of 300, want %d", made, want)
	}
	// Other networks are not affected, and refused requests use up nothing.
	for range 3 {
		g.NewKey("X-Forwarded-For", "2001:db8:8::1").Welcome()
	}
	g.NewKey("X-Forwarded-For", "192.0.2.1").Welcome()
}
