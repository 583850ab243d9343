package chaos_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// entry is a line of the client's log: one call and its result. Times are Unix microseconds of this
// machine's clock.
type entry struct {
	Number  int64  `json:"n"`
	Index   int    `json:"i"` // index in a batch
	Key     string `json:"key"`
	Method  string `json:"method"`
	Tier    string `json:"tier"`
	Process string `json:"process"` // its base URL
	Units   int64  `json:"units"`   // thousandths, as the interface weighs the call
	Sent    int64  `json:"sent"`
	Ended   int64  `json:"ended"`
	Status  int    `json:"status,omitempty"`
	Code    int    `json:"code,omitempty"`
	Message string `json:"message,omitempty"` // of a refusal or a failure
	Request string `json:"request,omitempty"` // X-Request-Id
	Hit     bool   `json:"hit,omitempty"`
	// Unsent is set when no connection could be made. Lost is set when one broke before the answer,
	// so the call's result is unknown.
	Unsent bool   `json:"unsent,omitempty"`
	Lost   string `json:"lost,omitempty"`
}

// callLog writes entries to a file. It is safe for concurrent use.
type callLog struct {
	path string
	n    atomic.Int64

	mu   sync.Mutex              // guards what follows
	came map[string]map[fate]int // numbers of calls by key and fate, for tests that wait for them
	file *os.File
	to   *bufio.Writer
	err  error
}

func openLog(t *testing.T, path string) *callLog {
	t.Helper()
	file, err := os.Create(path) //nolint:gosec // a file of the test
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return &callLog{path: path, file: file, to: bufio.NewWriter(file), came: map[string]map[fate]int{}}
}

func (l *callLog) write(e *entry) {
	line, err := json.Marshal(e)
	l.mu.Lock()
	defer l.mu.Unlock()
	_, wrote := l.to.Write(append(line, '\n'))
	l.err = errors.Join(l.err, err, wrote)
	if l.came[e.Key] == nil {
		l.came[e.Key] = map[fate]int{}
	}
	f, _, _ := fateOf(e)
	l.came[e.Key][f]++
}

// cameTo returns the number of a key's calls with a fate.
func (l *callLog) cameTo(key apiKey, f fate) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.came[key.id][f]
}

// read returns everything that was written so far.
func (l *callLog) read(t *testing.T) []entry {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := errors.Join(l.err, l.to.Flush()); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(l.path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	var all []entry
	for lines := json.NewDecoder(file); ; {
		var e entry
		if err := lines.Decode(&e); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
}

// connection is one client, which makes calls with a key one after another, each to a random
// process.
type connection struct {
	key       apiKey
	log       *callLog
	processes []string // base URLs
	random    *rand.Rand
	pace      time.Duration
	plain     bool // only identical calls of one unit
	http      *http.Client
}

const (
	pace = 20 * time.Millisecond
	// afterTrouble is the pause after an outage was noticed, so that it does not affect hundreds of
	// calls with unknown results.
	afterTrouble = 150 * time.Millisecond
	// answerWithin is longer than any call may take.
	answerWithin = 20 * time.Second
)

func newConnection(key apiKey, log *callLog, processes []string, seed uint64) *connection {
	return &connection{
		//nolint:gosec // a load, no secret
		key: key, log: log, processes: processes, pace: pace,
		random: rand.New(rand.NewPCG(seed, uint64(len(key.secret)))),
		http: &http.Client{
			Timeout: answerWithin,
			Transport: &http.Transport{
				DisableCompression: true, MaxIdleConnsPerHost: 1,
				DialContext: (&net.Dialer{Timeout: 2 * time.Second}).DialContext,
			},
		},
	}
}

// run makes calls until stop is closed. It waits for the answer to the last one.
func (c *connection) run(stop <-chan struct{}) {
	defer c.http.CloseIdleConnections()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-stop:
			return
		case <-timer.C:
		}
		wait := c.pace
		if c.once() {
			wait = afterTrouble
		}
		timer.Reset(wait)
	}
}

// once makes one request, with one call or a batch, and logs the results. It reports whether it
// noticed an outage.
func (c *connection) once() (trouble bool) {
	number := c.log.n.Add(1)
	tier := ""
	size := 1
	if !c.plain {
		tier = []string{"", "cheap", "balanced", "fast"}[c.random.IntN(4)]
		if c.random.IntN(20) == 0 {
			size = 2 + c.random.IntN(3)
		}
	}
	entries := make([]entry, size)
	bodies := make([]string, size)
	for i := range entries {
		kind := usual
		if !c.plain {
			kind = pick(c.random, size > 1)
		}
		entries[i] = entry{
			Number: number, Index: i, Key: c.key.id, Method: kind.method, Tier: tierOf(tier),
			Units: weigh(kind.weight, tier),
		}
		bodies[i] = kind.body(i+1, number, i)
	}
	body := bodies[0]
	if size > 1 {
		body = "[" + strings.Join(bodies, ",") + "]"
	}
	c.ask(c.processes[c.random.IntN(len(c.processes))], tier, body, entries)
	for i := range entries {
		c.log.write(&entries[i])
		trouble = trouble || entries[i].Unsent || entries[i].Lost != "" ||
			entries[i].Status == http.StatusServiceUnavailable
	}
	return trouble
}

// onlyReader hides the body's type, so that net/http cannot retry the request.
type onlyReader struct{ io.Reader }

func (c *connection) ask(base, tier, body string, entries []entry) {
	sent := time.Now()
	// No context: a call must be waited for, or its result would be unknown.
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, base+"/rpc/eth_mainnet",
		onlyReader{strings.NewReader(body)})
	if err != nil {
		panic(err) // the address is ours
	}
	req.ContentLength = int64(len(body))
	req.Header.Set("Authorization", "Bearer "+c.key.secret)
	req.Header.Set("Content-Type", "application/json")
	if tier != "" {
		req.Header.Set("X-Route-Tier", tier)
	}
	resp, err := c.http.Do(req)
	var answer []byte
	if err == nil {
		answer, err = io.ReadAll(resp.Body)
		_ = resp.Body.Close()
	}
	ended := time.Now()
	for i := range entries {
		e := &entries[i]
		e.Process, e.Sent, e.Ended = base, sent.UnixMicro(), ended.UnixMicro()
		if err != nil {
			dial, ok := errors.AsType[*net.OpError](err)
			e.Unsent = ok && dial.Op == "dial"
			if !e.Unsent {
				e.Lost = err.Error()
			}
			continue
		}
		e.Status, e.Request, e.Hit = resp.StatusCode, resp.Header.Get("X-Request-Id"),
			resp.Header.Get("X-Service-Cache") == "hit"
	}
	if err == nil {
		read(answer, entries)
	}
}

// read records the errors in an answer. If the answer cannot be parsed, the results of its calls
// are unknown.
func read(answer []byte, entries []entry) {
	type reply struct {
		ID     int             `json:"id"`
		Result json.RawMessage `json:"result"`
		Error  *struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	replies := make([]reply, 1)
	var err error
	if len(entries) > 1 && strings.HasPrefix(string(answer), "[") {
		err = json.Unmarshal(answer, &replies)
	} else {
		err = json.Unmarshal(answer, &replies[0])
	}
	for i := range entries {
		e, one := &entries[i], replies[0]
		if len(replies) == len(entries) {
			one = replies[i] // in the order of the requests
		}
		switch {
		case err != nil || (len(replies) == len(entries) && one.ID != i+1):
			e.Lost = fmt.Sprintf("an answer that is none: %.200s", answer)
		case one.Error != nil:
			e.Code, e.Message = one.Error.Code, one.Error.Message
		case one.Result == nil:
			e.Lost = fmt.Sprintf("neither result nor error: %.200s", answer)
		}
	}
}

// kind is a kind of call in the load.
type kind struct {
	method string // as in usage lines
	weight int64  // thousandths of units on the balanced tier (docs/interface.md)
	name   string // the method as sent
	params string // %s is replaced by 24 hex digits that are unique to the call
}

var usual = kind{"eth_getBalance", 1000, "eth_getBalance", `["0x0000000000000000%s","latest"]`}

// Words in parameters that tell the scripted upstream what to do.
const (
	failWord = "fa11fa11fa11fa11"
	hangWord = "5105105105105105"
	revertBy = "badbadbadbadbad0"
)

// kinds are the kinds of calls with their share of a thousand calls.
var kinds = []struct {
	share int
	kind
}{
	{620, usual},
	{100, kind{
		"eth_getLogs", 2000, "eth_getLogs",
		`[{"fromBlock":"0x1","toBlock":"0x100","address":"0x0000000000000000%s"}]`,
	}},
	{120, kind{"eth_getBalance", 1000, "eth_getBalance", `["0x` + failWord + `%s","latest"]`}},
	{50, kind{"eth_getBalance", 1000, "eth_getBalance", `["0x` + revertBy + `%s","latest"]`}},
	{3, kind{"eth_getBalance", 1000, "eth_getBalance", `["0x` + hangWord + `%s","latest"]`}},
	// a block range that is too wide
	{40, kind{
		"eth_getLogs", 2000, "eth_getLogs",
		`[{"fromBlock":"0x1","toBlock":"0x10000","address":"0x0000000000000000%s"}]`,
	}},
	// a method that is not in the catalog
	{37, kind{"", 1000, "eth_mining%s", `[]`}},
	// a cache hit
	{30, kind{"eth_chainId", 1000, "eth_chainId", `[]`}},
}

func pick(random *rand.Rand, batch bool) kind {
	for {
		at := random.IntN(1000)
		for _, k := range kinds {
			if at -= k.share; at >= 0 {
				continue
			}
			if batch && (k.name == "eth_chainId" || strings.Contains(k.params, hangWord)) {
				break // in a batch, cache hits of single items cannot be seen
			}
			return k.kind
		}
	}
}

func (k kind) body(id int, number int64, index int) string {
	word := fmt.Sprintf("%022x%02x", number, index)
	name, params := k.name, k.params
	if strings.Contains(name, "%s") {
		name = fmt.Sprintf(name, word)
	}
	if strings.Contains(params, "%s") {
		params = fmt.Sprintf(params, word)
	}
	return `{"jsonrpc":"2.0","id":` + strconv.Itoa(id) + `,"method":"` + name + `","params":` + params + `}`
}

func tierOf(header string) string {
	if header == "" {
		return "balanced"
	}
	return header
}

// weigh returns the price of a call on a tier.
func weigh(weight int64, tier string) int64 {
	switch tier {
	case "cheap":
		return weight / 2
	case "fast":
		return weight * 2
	}
	return weight
}
