package fault

import "net/http"

// The reasons, grouped by what refuses. Codes and statuses: docs/interface.md, 1.7 and 2.7, and the
// table of reasons in docs/decisions/0022.
const (
	_ Reason = iota

	// Credentials.
	KeyInvalid
	AccountSuspended
	WrongKindOfKey

	// Rate windows and allowances.
	RateWindow
	KeyBudget
	PlanQuota
	ServiceCap
	DoorKeyDay
	NewKeyQuota

	// The plan and the service switches.
	PlanLacksService
	ServiceOff

	// The request itself.
	NotJSON
	NotARequest
	BodyTooLarge
	HeadersTooLarge
	BatchTooLarge
	MethodNotAllowed
	MediaTypeRefused
	HostRefused
	PathClosed
	UnknownChain
	UnknownRoute
	MethodNotServed
	RangeTooLarge
	ParameterRefused
	FieldRefused

	// Submissions and payments.
	OutcomeUnknown
	PaymentRequired
	SettlementRedeemed
	SettlementOver
	BindingRefused
	NotYours

	// Failures of the service itself.
	NoUpstream
	MeterUnreachable
	UpstreamFailed
	UpstreamTimeout
	NotYetInForce
	DurableUnavailable
	InternalFault
)

var table = [...]Entry{
	KeyInvalid: {
		Name: "key_invalid", Code: -32001, HTTP: http.StatusUnauthorized,
		Title: "API key missing or invalid",
		Meaning: "No valid API key came with the request. Send Authorization: Bearer <API_KEY>; POST /keys gives a " +
			"key without sign-up.",
		Steps: []string{
			"Send the header Authorization: Bearer <API_KEY>. The key alone counts too, and Basic with the key as " +
				"password, as in https://x:<API_KEY>@host.",
			"Check the key for characters lost in copying: it starts with cag_ and carries a checksum.",
			"POST /keys gives a new key without sign-up.",
		},
		Doorway: "/keys",
	},
	AccountSuspended: {
		Name: "account_suspended", Code: -32009, HTTP: http.StatusForbidden,
		Title: "Account suspended",
		Meaning: "The account of this key is suspended, so none of its keys is served. File a ticket at the path in " +
			"data.support.",
		Steps: []string{"File a ticket at the path in data.support to learn why and how it ends."},
	},
	WrongKindOfKey: {
		Name: "wrong_kind_of_key", Code: -32028, HTTP: http.StatusForbidden,
		Title: "Not for this kind of key",
		Meaning: "This kind of key may not do that. Keys made without sign-up, keys of agents and adopted keys " +
			"manage no account and make no further keys.",
		Steps: []string{
			"Use a key that an owner made in the console, or sign in as one.",
			"A key of an agent or an adopted one: ask the owner who manages it.",
		},
	},
	RateWindow: {
		Name: "rate_window", Code: -32005, HTTP: http.StatusTooManyRequests,
		Title: "Rate window reached",
		Meaning: "Too many requests in the current window. Wait for the time in Retry-After, then go on at the rate " +
			"in RateLimit-Limit.",
		Steps: []string{
			"Wait for Retry-After seconds.", "Spread requests over the window; cache hits count in it too.",
			"A plan with a wider window serves more.",
		},
	},
	KeyBudget: {
		Name: "key_budget", Code: -32006, HTTP: http.StatusTooManyRequests,
		Title:   "Key budget reached",
		Meaning: "This key has used up its own monthly cap. Raise or remove the cap, or wait for the next period.",
		Steps:   []string{"Raise or remove the key's monthly cap.", "Or wait until the period ends."},
	},
	PlanQuota: {
		Name: "plan_quota", Code: -32007, HTTP: http.StatusTooManyRequests,
		Title: "Plan quota reached",
		Meaning: "The plan's units of this period are used up and no pack has units left. Buy a pack, choose a " +
			"larger plan, or wait for the next period.",
		Steps: []string{
			"Buy a pack: it is drawn at once.", "Choose a larger plan.", "Or wait until the period ends.",
		},
	},
	ServiceCap: {
		Name: "service_cap", Code: -32014, HTTP: http.StatusTooManyRequests,
		Title: "Service cap reached",
		Meaning: "The monthly cap on this service is used up; data.scope says whether the key's or the account's. " +
			"Raise the cap, or wait for the next period.",
		Steps: []string{"Raise or remove the service's cap.", "Or wait until the period ends."},
	},
	DoorKeyDay: {
		Name: "door_key_day", Code: -32016, HTTP: http.StatusTooManyRequests,
		Title: "Daily units of a door key used up",
		Meaning: "This key's units of the UTC day are used up. Wait until 00:00 UTC, or take the next door named in " +
			"data.next_door.",
		Steps: []string{"Wait until 00:00 UTC.", "Or take the next door named in data.next_door."},
	},
	NewKeyQuota: {
		Name: "new_key_quota", Code: -32024, HTTP: http.StatusTooManyRequests,
		Title: "New keys of this address used up",
		Meaning: "This network address has made its three keys of the UTC day. Use one of them, or take one of the " +
			"doorways in data.doorways.",
		Steps: []string{"Use a key made earlier today.", "Or wait until 00:00 UTC."},
	},
	PlanLacksService: {
		Name: "plan_lacks_service", Code: -32010, HTTP: http.StatusForbidden,
		Title:   "The plan lacks this service",
		Meaning: "The data service comes with paid plans. Choose one, or read balances through the relay.",
		Steps: []string{
			"Choose a paid plan.", "Or read balances with eth_getBalance and eth_call through the relay.",
		},
	},
	ServiceOff: {
		Name: "service_off", Code: -32012, HTTP: http.StatusForbidden,
		Title:   "Service switched off",
		Meaning: "This service is switched off for the account or the key. Switch it on at the path in data.enable.",
		Steps: []string{
			"Switch the service on at the path in data.enable.",
			"data.blocked_by is key when the key's own switch blocks it.",
		},
	},
	NotJSON: {
		Name: "not_json", Code: -32700, HTTP: http.StatusBadRequest,
		Title:   "Not JSON",
		Meaning: "The body is not valid JSON. Send one JSON-RPC 2.0 request, or an array of 1 to 1000 of them.",
		Steps:   []string{"Check the body with a JSON parser.", "Send UTF-8 without a byte order mark."},
	},
	NotARequest: {
		Name: "not_a_request", Code: -32600, HTTP: http.StatusBadRequest,
		Title: "Not a JSON-RPC request",
		Meaning: "The body is JSON but not a JSON-RPC 2.0 request. It takes jsonrpc \"2.0\", a method string and, " +
			"optionally, a params array.",
		Steps: []string{
			"Send {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"…\",\"params\":[…]}.", "An empty batch is not a request.",
		},
	},
	BodyTooLarge: {
		Name: "body_too_large", Code: -32600, HTTP: http.StatusRequestEntityTooLarge,
		Title:   "Body too large",
		Meaning: "The request body is larger than the service takes. Split it into smaller requests.",
		Steps:   []string{"Split the request."},
	},
	HeadersTooLarge: {
		Name: "headers_too_large", Code: -32600, HTTP: http.StatusRequestHeaderFieldsTooLarge,
		Title:   "Headers too large",
		Meaning: "The request's headers are larger or more than the service takes. Send fewer and shorter headers.",
		Steps:   []string{"Send fewer and shorter headers: Authorization and Content-Type are enough."},
	},
	BatchTooLarge: {
		Name: "batch_too_large", Code: -32600, HTTP: http.StatusRequestEntityTooLarge,
		Title:   "Batch too large",
		Meaning: "A batch holds at most 1000 requests. Send it in parts.",
		Steps:   []string{"Send the batch in parts of at most 1000 requests."},
	},
	MethodNotAllowed: {
		Name: "method_not_allowed", Code: -32600, HTTP: http.StatusMethodNotAllowed,
		Title:   "HTTP method not allowed",
		Meaning: "This path does not take that HTTP method. The Allow header lists those it takes.",
		Steps:   []string{"Use a method of the Allow header."},
	},
	MediaTypeRefused: {
		Name: "media_type_refused", Code: -32600, HTTP: http.StatusUnsupportedMediaType,
		Title: "Content-Type not taken",
		Meaning: "The body's Content-Type is not one that this path takes. Send JSON with Content-Type: " +
			"application/json, and without Content-Encoding.",
		Steps: []string{"Send Content-Type: application/json."},
	},
	HostRefused: {
		Name: "host_refused", Code: -32600, HTTP: http.StatusForbidden,
		Title: "Host not served on this machine's own address",
		Meaning: "The request came over this machine's own address under the name of another host, as pages do that " +
			"trick a browser into calling local services. Use the gateway's public address.",
		Steps: []string{
			"Use the public address of the gateway, or localhost on the machine itself.",
			"The operator names further hosts in MCP_HOSTS.",
		},
	},
	PathClosed: {
		Name: "path_closed", Code: -32600, HTTP: http.StatusGone,
		Title: "Path closed for good",
		Meaning: "This path belonged to an earlier version of the interface and answers no more. The message names " +
			"what took its place.",
		Steps: []string{"Use the path that the message names."},
	},
	UnknownChain: {
		Name: "unknown_chain", Code: -32600, HTTP: http.StatusNotFound,
		Title: "Unknown chain",
		Meaning: "The chain in the path is not served. Use eth_mainnet, base_mainnet, arbitrum_one, " +
			"optimism_mainnet, polygon_pos or solana_mainnet.",
		Steps: []string{
			"Use one of eth_mainnet, base_mainnet, arbitrum_one, optimism_mainnet, polygon_pos, solana_mainnet.",
		},
	},
	UnknownRoute: {
		Name: "unknown_route", Code: -32600, HTTP: http.StatusNotFound,
		Title:   "Unknown route",
		Meaning: "No route has this path. JSON-RPC goes to POST /rpc/{chain}.",
		Steps:   []string{"Check the path.", "JSON-RPC goes to POST /rpc/{chain}."},
	},
	MethodNotServed: {
		Name: "method_not_served", Code: -32601, HTTP: http.StatusNotFound,
		Title: "Method not served",
		Meaning: "This method is not in the catalog of this chain. Names are case-sensitive; data.docs lists the " +
			"catalog, data.contact takes requests.",
		Steps: []string{
			"Check the spelling: method names are exact and case-sensitive.",
			"Look the method up in the catalog at data.docs.", "Ask for it at data.contact.",
		},
	},
	RangeTooLarge: {
		Name: "range_too_large", Code: -32602, HTTP: http.StatusBadRequest,
		Title: "Range too large",
		Meaning: "The block range is larger than one call may ask for. Split it into smaller ranges and send one " +
			"call for each.",
		Steps: []string{
			"Split the range: eth_getLogs takes up to 1000 blocks, eth_feeHistory up to 1024.",
			"Ask at data.contact for tailored requests.",
		},
	},
	ParameterRefused: {
		Name: "parameter_refused", Code: -32602, HTTP: http.StatusBadRequest,
		Title:   "Parameter refused",
		Meaning: "A parameter of the relay call is not valid; the message names it and what it takes.",
		Steps:   []string{"Correct the parameter that the message names."},
	},
	FieldRefused: {
		Name: "field_refused", Code: -32602, HTTP: http.StatusUnprocessableEntity,
		Title:   "Field refused",
		Meaning: "A value of the path, query or body is not valid; the message names the field and what it takes.",
		Steps:   []string{"Correct the field that the message names."},
	},
	OutcomeUnknown: {
		Name: "outcome_unknown", Code: -32017, HTTP: http.StatusConflict,
		Title: "Submission outcome unknown",
		Meaning: "The transaction left for the network but no usable answer came back, so it may or may not have " +
			"been accepted. Look it up by its hash or signature before signing again; re-sending the identical " +
			"signed bytes is safe, a new signature on the same nonce is not.",
		Steps: []string{
			"Look the transaction up by the hash or signature in data.",
			"Re-sending the identical signed bytes is safe.",
			"Do not sign again with the same nonce before the outcome is known.",
		},
	},
	PaymentRequired: {
		Name: "payment_required", Code: -32018, HTTP: http.StatusPaymentRequired,
		Title: "Pay-per-call credential unknown, spent or expired",
		Meaning: "The X-PAYMENT credential is unknown, spent or expired; data.reason says which. Pay against the " +
			"menu and retry with a new X-PAYMENT.",
		Steps:   []string{"Read the menu at /x402.", "Pay, redeem, and retry with the new credential in X-PAYMENT."},
		Doorway: "/x402",
	},
	SettlementRedeemed: {
		Name: "settlement_redeemed", Code: -32027, HTTP: http.StatusConflict,
		Title:   "Settlement redeemed already",
		Meaning: "This settlement was redeemed by another wallet or its units are used up. Pay a new settlement.",
		Steps:   []string{"Pay a new settlement against the menu at /x402."},
		Doorway: "/x402",
	},
	SettlementOver: {
		Name: "settlement_over", Code: -32027, HTTP: http.StatusGone,
		Title:   "Settlement window over",
		Meaning: "The window of this settlement is over. Pay a new settlement.",
		Steps:   []string{"Pay a new settlement against the menu at /x402."},
		Doorway: "/x402",
	},
	BindingRefused: {
		Name: "binding_refused", Code: -32025, HTTP: http.StatusUnprocessableEntity,
		Title: "Binding refused",
		Meaning: "The key could not be bound to this wallet; the message says why. Start the binding again when the " +
			"challenge is over.",
		Steps: []string{
			"Sign exactly the message that the start call gave.",
			"Start again when the challenge is older than 10 minutes.",
		},
	},
	NotYours: {
		Name: "not_found", Code: -32026, HTTP: http.StatusNotFound,
		Title:   "No such thing of yours",
		Meaning: "No receipt, statement, ticket or key of yours has this name. List them to see what there is.",
		Steps:   []string{"List yours and use a name from the list."},
	},
	NoUpstream: {
		Name: "no_upstream", Code: -32020, HTTP: http.StatusServiceUnavailable,
		Title: "No healthy upstream",
		Meaning: "No upstream of this chain can be used right now, or its head is not known yet. Nothing was " +
			"charged; retry in a few seconds.",
		Steps: []string{"Retry after Retry-After seconds.", "Nothing was charged."},
	},
	MeterUnreachable: {
		Name: "meter_unreachable", Code: -32021, HTTP: http.StatusServiceUnavailable,
		Title:   "Meter unreachable",
		Meaning: "The meter did not answer, so the call was not relayed. Retry in a few seconds.",
		Steps: []string{
			"Retry after Retry-After seconds.",
			"The call did not reach any upstream; a charge that was made is given back.",
		},
	},
	UpstreamFailed: {
		Name: "upstream_failed", Code: -32022, HTTP: http.StatusBadGateway,
		Title: "No usable answer from any upstream",
		Meaning: "No upstream gave a usable answer. Nothing was charged; retry, and file a ticket at data.support " +
			"when it goes on.",
		Steps: []string{
			"Retry.", "File a ticket at the path in data.support when it goes on.", "Nothing was charged.",
		},
	},
	UpstreamTimeout: {
		Name: "upstream_timeout", Code: -32023, HTTP: http.StatusGatewayTimeout,
		Title: "Upstreams timed out",
		Meaning: "No upstream answered in time. Nothing was charged; retry, with a smaller range or fewer requests " +
			"when the call is heavy.",
		Steps: []string{"Retry.", "Ask for less in one call.", "Nothing was charged."},
	},
	NotYetInForce: {
		Name: "not_yet_in_force", Code: -32029, HTTP: http.StatusServiceUnavailable,
		Title: "Change saved, not in force yet",
		Meaning: "The change is saved but the meter could not be told yet. It will be told by itself; read the " +
			"setting again to see when it holds.",
		Steps: []string{"Wait: the change is pushed by itself.", "Repeating the change is safe."},
	},
	DurableUnavailable: {
		Name: "durable_unavailable", Code: -32030, HTTP: http.StatusServiceUnavailable,
		Title: "Durable flows unavailable",
		Meaning: "The part of the service that carries durable flows does not answer. The relay is not affected; " +
			"retry in a minute.",
		Steps: []string{"Retry in a minute.", "The relay is not affected."},
	},
	InternalFault: {
		Name: "internal", Code: -32603, HTTP: http.StatusInternalServerError,
		Title: "Internal fault",
		Meaning: "The service failed in a way it did not expect. Retry, and file a ticket at data.support when it " +
			"goes on.",
		Steps: []string{"Retry.", "File a ticket at the path in data.support when it goes on."},
	},
}

var byName = make(map[string]Reason, len(table))

func init() {
	for r := range table {
		table[r].Reason = Reason(r) //nolint:gosec // the table is far shorter than 256
		if table[r].Code != 0 {
			byName[table[r].Name] = Reason(r) //nolint:gosec // as above
		}
	}
}
