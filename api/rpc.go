package api

import (
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/jsonrpc"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/service/operation"
)

// routeRPC registers the relay's paths, each with and without a slash at its end. A redirect from
// one to the other would lose the body.
func (s *server) routeRPC(engine *gin.Engine) {
	for _, end := range []string{"", "/"} {
		engine.POST(rpcPrefix+":chain"+end, s.rpc)
		engine.OPTIONS(rpcPrefix+":chain"+end, s.preflight)
		engine.POST(rpcPrefix+":chain/:key"+end, s.keyInPath)
		engine.OPTIONS(rpcPrefix+":chain/:key"+end, s.keyInPath)
		if s.Stock != nil {
			engine.POST(paidRPCPrefix+":chain"+end, s.paidRPC)
			engine.OPTIONS(paidRPCPrefix+":chain"+end, s.preflight)
		}
	}
}

// rpc is POST /rpc/{chain}: one JSON-RPC request or a batch.
func (s *server) rpc(c *gin.Context) {
	if s.wantsPayment(c.Request) {
		s.sell(c)
		return
	}
	s.relayFor(c)
}

// relayFor relays for the holder of a key or a credential.
func (s *server) relayFor(c *gin.Context) {
	id := requestID(c)
	e := &relay.Envelope{RequestID: id, Tier: plan.Balanced}
	var refusal *fault.Error
	e.Network = clientNetwork(c.Request, s.TrustedProxies)
	e.Subject, refusal = s.identify(c.Request, e.Network)
	buffer := newBody(s.MaxBodyBytes)
	defer buffer.release()
	if refusal != nil {
		s.refuseRPC(c, refusal, s.idsOfStranger(c.Request, buffer))
		return
	}
	buffer.owner = e.Subject.Account.UUID
	body, own := s.requestOf(c, e, buffer)
	if own != nil {
		s.writeRefused(c, s.Relay.Refuse(c.Request.Context(), e, 0, singleID(body), own), body)
		return
	}
	s.relay(c, e, body)
}

// relay answers a request of an identified caller.
func (s *server) relay(c *gin.Context, e *relay.Envelope, body []byte) {
	replies, batch := s.Relay.Serve(c.Request.Context(), e, body)
	switch {
	case batch:
		s.writeBatch(c, replies)
	case replies[0].Fault != nil:
		s.writeRefused(c, replies[0], body)
	default:
		s.writeSingle(c, replies[0])
	}
}

// identify returns the holder of the key or, without a key, of the pay-per-call credential.
func (s *server) identify(r *http.Request, network netip.Prefix) (*meter.Subject, *fault.Error) {
	key := bearer(r)
	if payment := r.Header.Get(paymentHeader); key == "" && payment != "" {
		return s.Limits.IdentifyCredential(r.Context(), payment, network)
	}
	if key == "" {
		return nil, limits.NoKey(unreadKey(r))
	}
	return s.Limits.Identify(r.Context(), key, network)
}

// keyInPath answers /rpc/{chain}/{key}, the form of other providers. A key in an address is none,
// because addresses are logged on their way. Pages may read the refusal, so preflight requests are
// answered too.
func (s *server) keyInPath(c *gin.Context) {
	switch {
	case !strings.HasPrefix(c.Param("key"), keyStart):
		s.noRoute(c)
	case c.Request.Method == http.MethodOptions:
		s.preflight(c)
	default:
		buffer := newBody(s.MaxBodyBytes)
		defer buffer.release()
		s.refuseRPC(c, limits.NoKey(true), s.idsOfStranger(c.Request, buffer))
	}
}

// paymentHeader carries a pay-per-call credential (docs/interface.md, 2.5).
const paymentHeader = "X-Payment"

// consistencyHeader selects how strict a read is (docs/interface.md, 1.2.2).
const consistencyHeader = "X-Route-Consistency"

// verifyHeader is how many upstreams must agree on a read, and verifiedHeader how many did
// (docs/interface.md, 1.2.2).
const (
	verifyHeader   = "X-Route-Verify"
	verifiedHeader = "X-Route-Verified"
)

// submissionHeader selects where transactions are sent (docs/interface.md, 1.8.5).
const submissionHeader = "X-Route-Submission"

// requestOf reads what the relay needs from the path, the headers and the body. When it refuses the
// request, the refusal still has to be counted; body is set if it could be read.
func (s *server) requestOf(c *gin.Context, e *relay.Envelope, buffer *requestBody) (body []byte, own *fault.Error) {
	body, unread := s.readBody(c.Request, buffer)
	on, ok := s.Pool.Chain(chain.ID(c.Param("chain")))
	if !ok {
		return body, operation.UnknownChain(s.Pool.Known(), c.Param("chain"), s.Links)
	}
	e.Chain = on
	asked := choiceOf(c.Request.Header, "X-Route-Tier")
	tier, ok := plan.ParseTier(asked)
	if !ok {
		return body, fault.New(fault.ParameterRefused, "X-Route-Tier takes cheap, balanced or fast.")
	}
	if bound := e.Subject.Tier; bound != "" {
		if asked != "" && tier != bound {
			return body, fault.New(fault.ParameterRefused,
				"This credential was redeemed for the tier %s. Leave X-Route-Tier out, or pay for the tier %s.",
				bound, tier)
		}
		tier = bound
	}
	e.Tier = tier
	switch choiceOf(c.Request.Header, consistencyHeader) {
	case "":
	case "head":
		e.AtHead = true
	default:
		return body, fault.New(fault.ParameterRefused,
			"X-Route-Consistency takes head: only upstreams that have the newest block are asked. "+
				"Leave it out otherwise.")
	}
	switch choiceOf(c.Request.Header, verifyHeader) {
	case "":
	case "2":
		e.Verify = 2
	case "3":
		e.Verify = relay.MaxVerify
	default:
		return body, fault.New(fault.ParameterRefused,
			"X-Route-Verify takes 2 or 3: so many upstreams must agree on each answer. Leave it out for the answer of "+
				"one.")
	}
	switch choiceOf(c.Request.Header, submissionHeader) {
	case "", "public":
	case "private":
		e.Private = true
	default:
		return body, fault.New(fault.ParameterRefused,
			"X-Route-Submission takes private or public: private sends transactions to endpoints that keep them "+
				"out of the public mempool. Nothing was sent.")
	}
	return body, unread
}

// choiceOf returns the value of a header that takes one of several words. A header that was sent
// more than once has no such value, because a proxy may have added the other one.
func choiceOf(h http.Header, name string) string {
	switch values := h[name]; len(values) {
	case 0:
		return ""
	case 1:
		return values[0]
	default:
		return strings.Join(values, ", ")
	}
}

// singleID returns the id of a request that is refused regardless of its content, or nil when there
// is none.
func singleID(body []byte) []byte {
	req, _ := jsonrpc.SplitRequest(body) // its other errors do not matter any more
	return req.ID
}

func (s *server) writeSingle(c *gin.Context, reply *relay.Reply) {
	id, h := c.Writer.Header().Get(requestIDHeader), c.Writer.Header()
	status := http.StatusOK
	if f := reply.Fault; f != nil {
		status = f.HTTP()
		limitHeaders(h, f)
	}
	if reply.Hit {
		h["X-Service-Cache"] = hitValue
	}
	if v := reply.Verified(); v.Asked > 0 {
		h[verifiedHeader] = []string{agreed(v)}
	}
	var values [2 + windowHeaders]string
	values[0] = serverTiming(reply.Timing, reply.Hit)
	h["Server-Timing"] = values[0:1:1]
	if reply.Fault == nil || reply.Fault.Window == nil {
		window := reply.Window()
		tellWindow(h, &window, values[2:])
	}
	h["Content-Type"] = jsonTypeValue
	buffer := buffers.Get().(*[]byte) //nolint:errcheck,forcetypeassert // the pool holds nothing else
	defer giveBack(buffer)
	*buffer = appendReply((*buffer)[:0], reply, id)
	if reply.Rest != nil {
		s.stream(c, reply, *buffer)
		return
	}
	reply.Close(status, s.send(c, status, *buffer, values[1:2:2]))
}

// send writes a complete answer, compressed where that saves bytes, and returns how many bytes were
// sent. It stores the value of Content-Length in length.
func (s *server) send(c *gin.Context, status int, body []byte, length []string) int64 {
	h := c.Writer.Header()
	if worthCompressing(c.Request.Header, len(body)) {
		if b := compress(body); b != nil {
			defer giveBackZipped(b)
			h["Content-Encoding"] = gzipValue
			body = b.Bytes()
		}
	}
	length[0] = strconv.Itoa(len(body))
	h["Content-Length"] = length
	c.Writer.WriteHeader(status)
	if len(body) > pieceBytes {
		client := s.client(c)
		_, _ = client.Write(body) // the client may have left; the call was made anyway
		return client.written
	}
	n, _ := c.Writer.Write(body)
	return int64(n)
}

var (
	hitValue      = []string{"hit"}
	jsonTypeValue = []string{jsonType}
)

// appendReply appends a JSON-RPC response: the client's id and the upstream's bytes. The object
// stays open when the result continues in reply.Rest.
func appendReply(b []byte, reply *relay.Reply, requestID string) []byte {
	if reply.Fault != nil {
		return appendFault(b, reply.ID, reply.Fault, requestID)
	}
	b = appendOpening(b, reply.ID)
	if reply.Error != nil {
		b = append(append(b, `"error":`...), reply.Error...)
	} else {
		b = append(append(b, `"result":`...), reply.Result...)
	}
	if reply.Rest != nil {
		return b
	}
	return append(b, '}')
}

func appendFault(b, id []byte, f *fault.Error, requestID string) []byte {
	b = append(appendOpening(b, id), `"error":`...)
	return append(append(b, f.Object(requestID)...), '}')
}

func appendOpening(b, id []byte) []byte {
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	if id == nil {
		b = append(b, "null"...)
	} else {
		b = append(b, id...)
	}
	return append(b, ',')
}

// agreed returns the value of X-Route-Verified.
func agreed(a upstream.Agreement) string {
	return strconv.Itoa(a.Agreed) + " of " + strconv.Itoa(a.Asked)
}

// serverTiming returns the Server-Timing header: gate (weight, cache and admission), route
// (everything else of the gateway) and upstream. A cache hit has only gate.
func serverTiming(t relay.Timing, hit bool) string {
	b := make([]byte, 0, 64)
	if hit {
		return string(appendTiming(b, "cache;desc=hit;dur=", t.Gate))
	}
	b = appendTiming(b, "gate;dur=", t.Gate)
	b = appendTiming(b, ", route;dur=", t.Route)
	b = appendTiming(b, ", upstream;dur=", t.Upstream)
	return string(b)
}

// slowest returns the maximum of each part, because the items of a batch run in parallel.
func slowest(replies []*relay.Reply) relay.Timing {
	var t relay.Timing
	for _, reply := range replies {
		t.Gate = max(t.Gate, reply.Timing.Gate)
		t.Route = max(t.Route, reply.Timing.Route)
		t.Upstream = max(t.Upstream, reply.Timing.Upstream)
	}
	return t
}

// appendTiming appends milliseconds with three decimals, rounded up so that a part that took any
// time is not shown as zero.
func appendTiming(b []byte, name string, d time.Duration) []byte {
	micros := (d + time.Microsecond - 1) / time.Microsecond
	return strconv.AppendFloat(append(b, name...), float64(micros)/1000, 'f', 3, 64)
}
