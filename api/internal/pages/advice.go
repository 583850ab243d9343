package pages

import "github.com/chainaccess/gateway/internal/fault"

// handling is what a program does about a refusal.
type handling uint8

// The ways: change the request first; wait and send it again; stop until more can be used; find out
// what became of a transaction; send the key; pay again.
const (
	_ handling = iota
	mend
	wait
	stop
	lookUp
	identify
	payAgain
)

// retries says of each way whether the same request may be sent again.
var retries = map[handling]string{
	mend: "Not as it is: the same request is refused again. Change what the message names.",
	wait: "Yes, after the seconds of Retry-After, or with growing pauses where there are none.",
	stop: "Not before the limit counts anew or is raised: the answer says when, in Retry-After and " +
		"RateLimit-Reset.",
	lookUp:   "Never by itself. Look the transaction up first; only the identical signed bytes may be sent again.",
	identify: "Not as it is: send a key that is valid.",
	payAgain: "Not with the same credential: redeem again within the window, or pay anew.",
}

// What a refused request was charged.
const (
	nothing    = "Nothing."
	onceAtMost = "At most once: the meter's answer was lost, so it is not known here."
)

// advice is what there is to say of a reason beside the table of refusals.
type advice struct {
	Why     string // how it comes about
	Does    handling
	Charged string // nothing when empty
	Doors   []door
}

// door is a place past the limit.
type door struct{ Text, To string }

var (
	toPlans   = door{"Plans and packs", "/pricing"}
	toBilling = door{"Billing", "/billing"}
	toKeys    = door{"Keys of your account", "/keys"}
	toNewKey  = door{"A key without sign-up", "/docs/quickstart"}
	toPay     = door{"Pay per call", "/docs/pay-per-call"}
	toAgents  = door{"Have an owner adopt the key", "/agents"}
	toBind    = door{"Bind the key to a wallet", "/skill.md"}
	toRecord  = door{"Statements", "/statements"}
	toMethods = door{"Methods of each chain", "/docs/methods"}
	toDocs    = door{"Every route and field", "/docs"}
	toFences  = door{"Switches and caps", "/settings"}
	toStatus  = door{"Status of the chains", "/status"}
	toQuick   = door{"Quick start", "/docs/quickstart"}
)

// advised has every reason of the table.
var advised = map[fault.Reason]advice{
	fault.KeyInvalid: {
		Why: "The Authorization header is missing, the key lost characters in copying, or it was revoked. The " +
			"checksum in a key finds slips before anything is looked up.", Does: identify,
		Doors: []door{toNewKey, toKeys},
	},
	fault.AccountSuspended: {
		Why:  "The people who run the service suspended the account. Its keys stay, and work again when that ends.",
		Does: mend,
	},
	fault.WrongKindOfKey: {
		Why: "Keys made without sign-up belong to no person, and keys of agents and adopted ones are managed by an " +
			"owner, so none of them makes further keys or changes anything of an account.", Does: mend,
		Doors: []door{toAgents, toKeys},
	},
	fault.RateWindow: {
		Why: "More requests came within the plan's window than it admits. The window slides, each item of a batch " +
			"counts, and so do answers from the cache.",
		Does: wait, Doors: []door{toPlans, toPay},
	},
	fault.KeyBudget: {
		Why: "The owner capped this key, and it has used that many units in the period.", Does: stop,
		Doors: []door{toKeys},
	},
	fault.PlanQuota: {
		Why: "The period's units of the plan are used, and no pack has units left.", Does: stop,
		Doors: []door{toBilling, toPlans, toPay},
	},
	fault.ServiceCap: {
		Why: "The owner capped this service, for the key or for the account, and the period has used that many units " +
			"of it.", Does: stop, Doors: []door{toFences},
	},
	fault.DoorKeyDay: {
		Why: "An anonymous key has so many units each UTC day, and these are used.", Does: stop,
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
		Why:  "Somebody of the account switched the service off, for the account or for this key.",
		Does: mend, Doors: []door{toFences},
	},
	fault.NotJSON: {
		Why: "The body is cut off, has a byte order mark or a trailing comma, or is no JSON at all.", Does: mend,
		Doors: []door{toQuick},
	},
	fault.NotARequest: {
		Why: "The body is JSON without jsonrpc \"2.0\" or without a method, its params are no array, or it is an " +
			"empty batch.", Does: mend, Doors: []door{toQuick},
	},
	fault.BodyTooLarge: {Why: "The body is longer than the service reads.", Does: mend},
	fault.HeadersTooLarge: {
		Why: "The headers are longer than the service reads; large cookies are the usual cause.", Does: mend,
	},
	fault.BatchTooLarge: {Why: "The array has more requests than one batch may.", Does: mend},
	fault.MethodNotAllowed: {
		Why: "The path is there, but not for this HTTP method: chains take POST.", Does: mend, Doors: []door{toDocs},
	},
	fault.MediaTypeRefused: {
		Why: "The request says that its body is something else than JSON, or packed in a way that the path does not " +
			"take.", Does: mend,
	},
	fault.HostRefused: {
		Why:  "Pages that trick a browser into calling services of its own machine look like this, so it is refused.",
		Does: mend,
	},
	fault.PathClosed: {
		Why: "The client was made for an earlier version of the interface.", Does: mend, Doors: []door{toDocs},
	},
	fault.UnknownChain: {
		Why: "The path names a chain by another name than the service does, or one that is not served.", Does: mend,
		Doors: []door{toMethods},
	},
	fault.UnknownRoute: {Why: "The path has a slip, or a slash too many.", Does: mend, Doors: []door{toDocs}},
	fault.MethodNotServed: {
		Why: "Methods are named exactly, with their case. Filters, subscriptions and methods that would need keys of " +
			"yours are not served anywhere.", Does: mend,
		Doors: []door{toMethods},
	},
	fault.RangeTooLarge: {
		Why: "One call may span so many blocks. Bounds that are left out, and tags, count as the block that they " +
			"stand for.", Does: mend, Doors: []door{toMethods},
	},
	fault.ParameterRefused: {
		Why: "A parameter is not of the form that the method takes.", Does: mend, Doors: []door{toMethods},
	},
	fault.FieldRefused: {
		Why:  "A field of the path, of the query or of the body is not of its form; data.fields names each of them.",
		Does: mend, Doors: []door{toDocs},
	},
	fault.OutcomeUnknown: {
		Why: "The transaction left for one upstream, and its answer was lost. The service never sends a transaction " +
			"twice by itself, because only you know whether you want that.",
		Does: lookUp, Doors: []door{{"Status of a transaction", "/toolbox"}, toStatus},
	},
	fault.PaymentRequired: {
		Why: "The credential was never given out, was replaced by a newer one, has fewer units left than the call " +
			"weighs, or its window is over.", Does: payAgain, Doors: []door{toPay},
	},
	fault.SettlementRedeemed: {
		Why: "A payment buys units once, for the wallet that paid.", Does: payAgain, Doors: []door{toPay},
	},
	fault.SettlementOver: {
		Why:  "The units of a payment can be used within its window only, and that is over.",
		Does: payAgain, Doors: []door{toPay},
	},
	fault.BindingRefused: {
		Why: "The signature is not of this wallet and this message, the challenge is over, or the wallet has another " +
			"key already.", Does: mend, Doors: []door{toBind},
	},
	fault.NotYours: {
		Why: "It never was, or it is somebody else's: both are answered alike.", Does: mend,
		Doors: []door{toKeys, toRecord},
	},
	fault.NoUpstream: {
		Why: "Every upstream of the chain fails its probes at this moment, or the gateway has just started and does " +
			"not know the chain's head yet.", Does: wait, Doors: []door{toStatus},
	},
	fault.MeterUnreachable: {
		Why:  "A call that cannot be counted is not relayed. The meter was out of reach, or its answer got lost.",
		Does: wait, Charged: onceAtMost, Doors: []door{toStatus},
	},
	fault.UpstreamFailed: {
		Why: "Up to three upstreams were asked, and none gave an answer that could be passed on.", Does: wait,
		Doors: []door{toStatus},
	},
	fault.UpstreamTimeout: {
		Why:  "The upstreams took longer than the call's deadline. Traces and wide ranges are the usual cause.",
		Does: wait, Doors: []door{toStatus},
	},
	fault.NotYetInForce: {
		Why:  "The record has the change, and the meter could not be told at once. It is told again until it knows.",
		Does: wait,
	},
	fault.DurableUnavailable: {
		Why: "Keys, bindings, payments and plans are carried by a part of the service of its own, which is away for " +
			"the moment.", Does: wait, Doors: []door{toStatus},
	},
	fault.InternalFault: {
		Why: "A mistake of ours. Its cause is logged under the request's id.", Does: wait, Doors: []door{toStatus},
	},
}
