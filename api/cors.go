package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/chainaccess/gateway/api/internal/openapi"
)

// What pages of other origins may do on /rpc/{chain}, /x402/rpc/{chain} and /mcp, and on the menu
// and its manifest, which they may read. A key is in the request's own header and no cookie means
// anything there, so every origin may (Fetch standard, section 3.3). Stock clients add headers of
// their own (solana-client), which the asterisk lets pass; Authorization it does not cover.
var (
	anyOrigin      = []string{"*"}
	allowedMethods = []string{http.MethodPost}
	menuMethods    = []string{http.MethodGet}
	allowedHeaders = []string{"Authorization, Content-Type, Content-Encoding, X-Route-Tier, X-PAYMENT, " +
		"PAYMENT-SIGNATURE, Accept-Payment, solana-client, Mcp-Protocol-Version, Mcp-Session-Id, Last-Event-ID, *"}
	exposedHeaders = []string{"X-Request-Id, X-Service-Cache, Server-Timing, Retry-After, RateLimit-Limit, " +
		"RateLimit-Remaining, RateLimit-Reset, WWW-Authenticate, PAYMENT-REQUIRED, PAYMENT-RESPONSE, " +
		"X-PAYMENT-RESPONSE, X-Payment-Credential"}
	preflightAge = []string{"86400"} // seconds; browsers cut it to what they keep at most
	varyEncoding = []string{"Accept-Encoding"}
)

const rpcPrefix = "/rpc/"

// menuPaths tell what calls cost and how to pay, which is no secret of anybody's: a wallet in a
// page reads it before it pays.
var menuPaths = []string{"/x402", "/.well-known/x402"}

// menuPreflights are what browsers ask before they let a page read those with headers of its own.
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

// shareRPC lets pages of other origins read every answer of the relay's routes, of the agents' door
// and of the menu, refusals too.
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

// ofAgents reports whether a path is the agents' door's.
func ofAgents(path string) bool {
	rest, ok := strings.CutPrefix(path, agentsPrefix)
	return ok && (rest == "" || rest[0] == '/')
}

// preflight is OPTIONS of those routes. It is not metered and asks for no key: browsers send none
// with it.
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
