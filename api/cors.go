package api

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
)

// What pages of other origins may do on /rpc/{chain}, /x402/rpc/{chain} and /mcp. A key is in the request's own header and no cookie means anything there, so
// every origin may (Fetch standard, section 3.3). Stock clients add headers of their own (solana-client), which the asterisk lets pass;
// Authorization it does not cover.
var (
	anyOrigin      = []string{"*"}
	allowedMethods = []string{http.MethodPost}
	allowedHeaders = []string{"Authorization, Content-Type, Content-Encoding, X-Route-Tier, X-PAYMENT, PAYMENT-SIGNATURE, Accept-Payment, solana-client, " +
		"Mcp-Protocol-Version, Mcp-Session-Id, Last-Event-ID, *"}
	exposedHeaders = []string{"X-Request-Id, X-Service-Cache, Server-Timing, Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, " +
		"PAYMENT-REQUIRED, PAYMENT-RESPONSE, X-PAYMENT-RESPONSE, X-Payment-Credential"}
	preflightAge = []string{"86400"} // seconds; browsers cut it to what they keep at most
	varyEncoding = []string{"Accept-Encoding"}
)

const rpcPrefix = "/rpc/"

// shareRPC lets pages of other origins read every answer of the relay's routes and of the agents' door, refusals too.
func (s *server) shareRPC(c *gin.Context) {
	if path := c.Request.URL.Path; !strings.HasPrefix(path, rpcPrefix) && !strings.HasPrefix(path, paidRPCPrefix) && !ofAgents(path) {
		return
	}
	h := c.Writer.Header()
	h["Access-Control-Allow-Origin"] = anyOrigin
	h["Vary"] = varyEncoding
	if c.Request.Method != http.MethodOptions && c.Request.Header["Origin"] != nil {
		h["Access-Control-Expose-Headers"] = exposedHeaders
	}
}

// ofAgents is whether a path is the agents' door's.
func ofAgents(path string) bool {
	rest, ok := strings.CutPrefix(path, agentsPrefix)
	return ok && (rest == "" || rest[0] == '/')
}

// preflight is OPTIONS of those routes. It is not metered and asks for no key: browsers send none with it.
func (s *server) preflight(c *gin.Context) {
	h := c.Writer.Header()
	h["Access-Control-Allow-Methods"] = allowedMethods
	h["Access-Control-Allow-Headers"] = allowedHeaders
	h["Access-Control-Max-Age"] = preflightAge
	c.Status(http.StatusNoContent)
}
