package upstream

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/relay/chain"
)

// longAnswer returns an answer whose id comes last, after more than peekBytes.
func longAnswer(of string) testkit.Reply {
	return testkit.Raw(http.StatusOK, "application/json",
		`{"jsonrpc":"2.0","result":"`+of+strings.Repeat(".", 2*peekBytes)+`","id":$id}`)
}

// readAll returns all of an answer that was sent on.
func readAll(t *testing.T, c *Chain) string {
	t.Helper()
	answer, refusal := c.Read(deadline(t, testTimeout), request("eth_getLogs"))
	if refusal != nil {
		t.Fatal(refusal)
	}
	defer answer.Release()
	text := string(answer.Result)
	if answer.Rest != nil {
		rest, err := io.ReadAll(answer.Rest)
		if err != nil {
			t.Error(err)
		}
		text += string(rest)
	}
	return text
}

// On a kept-alive connection, an extra answer with its id last would be sent to another customer
// before its id is known.
func TestLateIDs_GoOutOnConnectionsOfTheirOwn(t *testing.T) {
	t.Parallel()
	u := testkit.Upstream(t)
	_, c := poolOf(t, chain.EthMainnet, time.Now, providers(u))
	c.Apply(healthy(c, time.Now()))
	right := longAnswer("mine")
	u.Next(testkit.Result("0x1"), testkit.Preceded(longAnswer("another customer's"), right))
	u.Default(right)
	for call, want := range []string{`"0x1"`, `"mine.`, `"mine.`, `"mine.`} {
		if got := readAll(t, c); !strings.HasPrefix(got, want) || strings.Contains(got, "another") {
			t.Errorf("call %d got %.40q, want %q", call, got, want)
		}
	}
	if requests, connections := u.Total(), u.Connections(); requests != 5 || connections != 4 {
		t.Errorf("%d requests on %d connections: want the second call asked twice, and each that begins with its "+
			"result on a connection of its own", requests, connections)
	}
	if n := c.endpoints[0].health.inARow; n != 0 {
		t.Errorf("the upstream is blamed %d times for writing ids last", n)
	}
}
