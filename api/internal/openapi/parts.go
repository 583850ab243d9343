package openapi

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// Names of the headers, as components.
const (
	requestID  = "X-Request-Id"
	retryAfter = "Retry-After"
	retryLater = "Retry-After-Optional"
	limit      = "RateLimit-Limit"
	remaining  = "RateLimit-Remaining"
	reset      = "RateLimit-Reset"
	optional   = "-Optional" // suffix of those three where they describe the caller's rate window and may be absent
	cacheHit   = "X-Service-Cache"
	verified   = "X-Route-Verified"
	timing     = "Server-Timing"
	challenge  = "WWW-Authenticate"
)

func headerRef(name string) *huma.Param { return &huma.Param{Ref: "#/components/headers/" + name} }

// paced adds the headers of the caller's rate window.
func paced(r *huma.Response) {
	for _, name := range []string{limit, remaining, reset} {
		r.Headers[name] = headerRef(name + optional)
	}
}

// headers returns the headers of answers (docs/interface.md, 1.2).
func headers() map[string]*huma.Param {
	whole := func(least float64) *huma.Schema { return &huma.Schema{Type: huma.TypeInteger, Minimum: &least} }
	return map[string]*huma.Param{
		requestID: {
			Required: true, Description: "Id of the request, made by the service; errors name it, and tickets take it.",
			Schema: &huma.Schema{Type: huma.TypeString, Format: "uuid"},
		},
		retryAfter: {Required: true, Description: "Seconds to wait before the next try.", Schema: whole(1)},
		retryLater: {Description: "Seconds to wait before the next try, where that is known.", Schema: whole(1)},
		limit: {
			Required: true, Description: "What the limit that refused lets through: requests or units.",
			Schema: whole(0),
		},
		remaining: {Required: true, Description: "What is left of it.", Schema: whole(0)},
		reset:     {Required: true, Description: "Seconds until it counts anew.", Schema: whole(1)},
		limit + optional: {
			Description: "Requests that the caller's rate window lets through; absent where there is none.",
			Schema:      whole(1),
		},
		remaining + optional: {Description: "How many of them it takes now.", Schema: whole(0)},
		reset + optional:     {Description: "Seconds until more come back.", Schema: whole(1)},
		cacheHit: {
			Description: "hit when the answer, or every item of a batch, came from the cache and cost nothing.",
			Schema:      &huma.Schema{Type: huma.TypeString, Enum: []any{"hit"}},
		},
		verified: {
			Description: "How many upstreams gave the answer, of how many that were asked; on a batch the lowest of " +
				"the items that were verified.",
			Schema: &huma.Schema{Type: huma.TypeString, Pattern: "^[2-5] of [2-5]$", Examples: []any{"2 of 3"}},
		},
		challenge: {
			Required: true, Description: "How to send a key (RFC 6750).",
			Schema: &huma.Schema{Type: huma.TypeString, Examples: []any{`Bearer realm="gateway"`}},
		},
		timing: {
			Description: "Where the time went, in milliseconds: gate, route, upstream; or a cache hit.",
			Schema: &huma.Schema{
				Type: huma.TypeString, Examples: []any{"gate;dur=0.412, route;dur=0.051, upstream;dur=12.300"},
			},
		},
	}
}

// Names of the security schemes.
const (
	keyScheme     = "key"
	paymentScheme = "payment"
	sessionScheme = "session"
)

func securitySchemes() map[string]*huma.SecurityScheme {
	return map[string]*huma.SecurityScheme{
		keyScheme: {
			Type: "http", Scheme: "bearer", BearerFormat: "cag_…",
			Description: "An API key: Authorization: Bearer cag_…. POST /keys gives one without sign-up.",
		},
		paymentScheme: {
			Type: "apiKey", In: "header", Name: "X-PAYMENT",
			Description: "A pay-per-call credential, cagx_…, for the relay alone: POST /x402/redeem gives one for a " +
				"payment against the menu at /x402. Its calls have the tier that was paid for, until its units or " +
				"its window are used up. With an API key beside it the key wins.",
		},
		sessionScheme: {
			Type: "apiKey", In: "cookie", Name: "__Host-session",
			Description: "A person who signed in to the console with a browser.",
		},
	}
}

// success returns the answer of an operation that succeeded.
func success(status int, schema *huma.Schema) *huma.Response {
	r := &huma.Response{
		Description: http.StatusText(status), Headers: map[string]*huma.Param{requestID: headerRef(requestID)},
	}
	if status >= http.StatusMultipleChoices && status < http.StatusBadRequest {
		r.Headers["Location"] = &huma.Param{
			Required: true, Description: "Where to go on.", Schema: &huma.Schema{
				Type: huma.TypeString, Format: "uri-reference",
			},
		}
		return r
	}
	r.Content = map[string]*huma.MediaType{jsonMedia: {Schema: schema}}
	return r
}

// pathParams returns the names in the braces of a path.
func pathParams(path string) []string {
	var names []string
	for segment := range strings.SplitSeq(path, "/") {
		if rest, ok := strings.CutPrefix(segment, "{"); ok {
			name, _, _ := strings.Cut(rest, "}") // the rest belongs to the path: .json
			names = append(names, name)
		}
	}
	return names
}

func statusKey(status int) string { return strconv.Itoa(status) }
