package pages

import "github.com/chainaccess/gateway/internal/fault"

// handling is how a program should react to a refusal.
type handling uint8

// The reactions: change the request; wait and retry; stop until the limit is raised; look up what
// happened to the transaction; send the key; pay again.
const (
	_ handling = iota
	mend
	wait
	stop
	lookUp
	identify
	payAgain
)

// retries says for each reaction whether the same request may be sent again.
var retries = map[handling]string{
	mend:     "Not as it is: the same request is refused again. Change what the message names.",
	wait:     "Yes, after the seconds in Retry-After, or with exponential backoff if there are none.",
	stop:     "Not before the limit resets or is raised: Retry-After and RateLimit-Reset in the answer say when.",
	lookUp:   "Never automatically. Look the transaction up first; only the identical signed bytes may be sent again.",
	identify: "Not as it is: send a key that is valid.",
	payAgain: "Not with the same credential: redeem again within the window, or pay again.",
}

// What a refused request was charged.
const (
	nothing    = "Nothing."
	onceAtMost = "At most once: the meter's answer was lost, so we do not know."
)

// advice is the text about a reason that the table of refusals does not have.
type advice struct {
	Why     string // the cause
	Does    handling
	Charged string // "Nothing." when empty
	Doors   []door
}

// door is a link to a way past a limit.
type door struct{ Text, To string }

var (
	toPlans   = door{"Plans and packs", "/pricing"}
	toBilling = door{"Billing", "/billing"}
	toKeys    = door{"Keys of your account", "/keys"}
	toNewKey  = door{"A key without sign-up", "/docs/quickstart"}
	toPay     = door{"Pay per call", "/docs/pay-per-call"}
	toAgents  = door{"Ask an owner to adopt the key", "/agents"}
	toBind    = door{"Bind the key to a wallet", "/skill.md"}
	toRecord  = door{"Statements", "/statements"}
	toMethods = door{"Methods of each chain", "/docs/methods"}
	toDocs    = door{"Every route and field", "/docs"}
	toLimits  = door{"Switches and caps", "/settings"}
	toStatus  = door{"Status of the chains", "/status"}
	toQuick   = door{"Quick start", "/docs/quickstart"}
)

// advised has an entry for every reason of the table.
var advised = map[fault.Reason]advice{
	fault.KeyInvalid: {
		Why: "The Authorization header is missing, characters of the key were lost in copying, or it was revoked. " +
			"The checksum in a key catches typing errors before anything is looked up.", Does: identify,
		Doors: []door{toNewKey, toKeys},
	},
	fault.AccountSuspended: {
		Why:  "The operator suspended the account. Its keys remain and work again when the suspension ends.",
		Does: mend,
	},
	fault.WrongKindOfKey: {
		Why: "Keys made without sign-up belong to no person, and keys of agents and adopted keys are managed by an " +
			"owner, so none of them can make further keys or change an account.", Does: mend,
		Doors: []door{toAgents, toKeys},
	},
	fault.RateWindow: {
		Why: "More requests came within the window than the plan's rate limit allows. The window slides. Each item " +
			"of a batch counts, and so do answers from the cache.",
		Does: wait, Doors: []door{toPlans, toPay},
	},
	fault.KeyBudget: {
		Why: "The owner capped this key, and it has used that many units in the period.", Does: stop,
		Doors: []door{toKeys},
	},
	fault.PlanQuota: {
		Why: "The plan's units of the period are used up, and no pack has units left.", Does: stop,
		Doors: []door{toBilling, toPlans, toPay},
	},
	fault.ServiceCap: {
		Why: "The owner capped this service, for the key or for the account, and that many units of it were used in " +
			"this period.", Does: stop, Doors: []door{toLimits},
	},
	fault.DoorKeyDay: {
		Why: "An anonymous key has a fixed number of units per UTC day, and they are used up.", Does: stop,
		Doors: []door{toBind, toAgents, toPay},
	},
	fault.NewKeyQuota: {
		Why: "Keys without sign-up are counted by network address and UTC day, whichever way they are made: by POST " +
			"/keys, by the first page or by an agent.",
		Does: stop, Doors: []door{toBind, toPay, toPlans},
	},
	fault.PlanLacksService: {
		Why: "Balances and history come with paid plans only.", Does: mend, Doors: []door{toPlans, toMethods},
	},
	fault.ServiceOff: {
		Why:  "Someone in the account switched the service off, for the account or for this key.",
		Does: mend, Doors: []door{toLimits},
	},
	fault.NotJSON: {
		Why: "The body is cut off, has a byte order mark or a trailing comma, or is not JSON at all.", Does: mend,
		Doors: []door{toQuick},
	},
	fault.NotARequest: {
		Why: "The body is JSON without jsonrpc \"2.0\" or without a method, its params are not an array, or it is an " +
			"empty batch.", Does: mend, Doors: []door{toQuick},
	},
	fault.BodyTooLarge: {Why: "The body is longer than the service reads.", Does: mend},
	fault.HeadersTooLarge: {
		Why: "The headers are longer than the service reads; large cookies are the usual cause.", Does: mend,
	},
	fault.BatchTooLarge: {Why: "The array has more requests than a batch may have.", Does: mend},
	fault.MethodNotAllowed: {
		Why: "The path exists, but not for this HTTP method: chains take POST.", Does: mend, Doors: []door{toDocs},
	},
	fault.MediaTypeRefused: {
		Why: "The request says that its body is not JSON, or that it is compressed in a way that the path does not " +
			"accept.", Does: mend,
	},
	fault.HostRefused: {
		Why:  "Pages that trick a browser into calling services on its own machine look like this, so it is refused.",
		Does: mend,
	},
	fault.PathClosed: {
		Why: "The client was made for an earlier version of the interface.", Does: mend, Doors: []door{toDocs},
	},
	fault.UnknownChain: {
		Why: "The path names a chain that is not served, or uses another name for it.", Does: mend,
		Doors: []door{toMethods},
	},
	fault.UnknownRoute: {Why: "The path has a typing error or a slash too many.", Does: mend, Doors: []door{toDocs}},
	fault.MethodNotServed: {
		Why: "Names of methods are exact and case-sensitive. Filters, subscriptions and methods that would need your " +
			"keys are not served on any chain.", Does: mend,
		Doors: []door{toMethods},
	},
	fault.RangeTooLarge: {
		Why: "The number of blocks that one call may span is limited. Missing bounds and tags count as the block " +
			"that they stand for.", Does: mend, Doors: []door{toMethods},
	},
	fault.ParameterRefused: {
		Why: "A parameter does not have the form that the method takes.", Does: mend, Doors: []door{toMethods},
	},
	fault.FieldRefused: {
		Why:  "A field of the path, the query or the body has the wrong form; data.fields names each of them.",
		Does: mend, Doors: []door{toDocs},
	},
	fault.OutcomeUnknown: {
		Why: "The transaction was sent to one upstream, and its answer was lost. The service never sends a " +
			"transaction twice on its own, because only you know whether you want that.",
		Does: lookUp, Doors: []door{{"Status of a transaction", "/toolbox"}, toStatus},
	},
	fault.PaymentRequired: {
		Why: "The credential was never issued, was replaced by a newer one, has fewer units left than the call " +
			"costs, or its window is over.", Does: payAgain, Doors: []door{toPay},
	},
	fault.SettlementRedeemed: {
		Why: "A payment buys units once, for the wallet that paid.", Does: payAgain, Doors: []door{toPay},
	},
	fault.SettlementOver: {
		Why:  "The units of a payment can be used only within its window, which is over.",
		Does: payAgain, Doors: []door{toPay},
	},
	fault.BindingRefused: {
		Why: "The signature does not match this wallet and message, the challenge has expired, or the wallet already " +
			"has another key.", Does: mend, Doors: []door{toBind},
	},
	fault.NotYours: {
		Why: "It does not exist, or it belongs to someone else: both get the same answer.", Does: mend,
		Doors: []door{toKeys, toRecord},
	},
	fault.NoUpstream: {
		Why: "Every upstream of the chain is failing its probes, or the gateway has just started and does not know " +
			"the chain's head yet.", Does: wait, Doors: []door{toStatus},
	},
	fault.MeterUnreachable: {
		Why:  "A call that cannot be metered is not relayed. The meter was unreachable, or its answer was lost.",
		Does: wait, Charged: onceAtMost, Doors: []door{toStatus},
	},
	fault.UpstreamFailed: {
		Why: "Up to three upstreams were tried, and none returned a usable answer.", Does: wait,
		Doors: []door{toStatus},
	},
	fault.UpstreamTimeout: {
		Why:  "The upstreams took longer than the call's deadline. Traces and wide ranges are the usual cause.",
		Does: wait, Doors: []door{toStatus},
	},
	fault.NotYetInForce: {
		Why:  "The change is saved, but the meter could not be updated. The update is retried until it succeeds.",
		Does: wait,
	},
	fault.DurableUnavailable: {
		Why: "Keys, bindings, payments and plans are handled by a separate part of the service, which is " +
			"unavailable at the moment.", Does: wait, Doors: []door{toStatus},
	},
	fault.InternalFault: {
		Why: "An error on our side. Its cause is logged under the request's id.", Does: wait, Doors: []door{toStatus},
	},
}
