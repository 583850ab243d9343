package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/chainaccess/gateway/api/internal/openapi"
)

// CORS headers of /rpc/{chain}, /x402/rpc/{chain} and /mcp, and of the menu and its manifest. A key
// is sent in a header of its own and cookies are ignored, so every origin is allowed (Fetch
// standard, section 3.3). Stock clients add headers of their own (solana-client), which the
// asterisk allows; it does not cover Authorization.
var (
	anyOrigin      = []string{"*"}
	allowedMethods = []string{http.MethodPost}
	menuMethods    = []string{http.MethodGet}
	allowedHeaders = []string{"Authorization, Content-Type, Content-Encoding, X-Route-Tier, X-Route-Consistency, " +
		"X-Route-Submission, X-Route-Verify, " +
		"X-PAYMENT, PAYMENT-SIGNATURE, Accept-Payment, solana-client, " +
		"Mcp-Protocol-Version, Mcp-Session-Id, Last-Event-ID, *"}
	exposedHeaders = []string{"X-Request-Id, X-Service-Cache, X-Route-Verified, Server-Timing, Retry-After, " +
		"RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, WWW-Authenticate, PAYMENT-REQUIRED, " +
		"PAYMENT-RESPONSE, X-PAYMENT-RESPONSE, X-Payment-Credential"}
	preflightAge = []string{"86400"} // seconds; browsers cap it
	varyEncoding = []string{"Accept-Encoding"}
)

const rpcPrefix = "/rpc/"

// menuPaths serve prices and how to pay, which are public: a wallet in a page reads them before it
// pays.
var menuPaths = []string{"/x402", "/.well-known/x402"}

// menuPreflights answer the preflight requests of menuPaths.
func (s *server) menuPreflights() []plainRoute {
	routes := make([]plainRoute, len(menuPaths))
	for i, name := range []string{"menu_preflight", "payment_manifest_preflight"} {
		routes[i] = plainRoute{openapi.Plain{
			Method: http.MethodOptions, Path: menuPaths[i], Name: name,
			Title:       "Ask whether pages of other origins may read",
			Description: "They may, from every origin. It needs no key and is not metered.",
			Answers:     map[int]openapi.Answer{http.StatusNoContent: {Description: "They may."}},
		}, s.preflight}
	}
	return routes
}

// shareRPC allows pages of other origins to read every answer, refusals included, of the relay's
// routes, the agents' routes and the menu.
func (s *server) shareRPC(c *gin.Context) {
	path := c.Request.URL.Path
	menu := slices.Contains(menuPaths, path)
	if !menu && !strings.HasPrefix(path, rpcPrefix) && !strings.HasPrefix(path, paidRPCPrefix) && !ofAgents(path) {
		return
	}
	h := c.Writer.Header()
	h["Access-Control-Allow-Origin"] = anyOrigin
	if !menu {
		h["Vary"] = varyEncoding
	}
	if c.Request.Method != http.MethodOptions && c.Request.Header["Origin"] != nil {
		h["Access-Control-Expose-Headers"] = exposedHeaders
	}
}

// ofAgents reports whether a path is one of the agents' routes.
func ofAgents(path string) bool {
	rest, ok := strings.CutPrefix(path, agentsPrefix)
	return ok && (rest == "" || rest[0] == '/')
}

// preflight answers OPTIONS of those routes. It is not metered and needs no key, because browsers
// send none with it.
func (s *server) preflight(c *gin.Context) {
	h := c.Writer.Header()
	h["Access-Control-Allow-Methods"] = allowedMethods
	if slices.Contains(menuPaths, c.Request.URL.Path) {
		h["Access-Control-Allow-Methods"] = menuMethods
	}
	h["Access-Control-Allow-Headers"] = allowedHeaders
	h["Access-Control-Max-Age"] = preflightAge
	c.Status(http.StatusNoContent)
}
