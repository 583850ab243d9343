package mcp

import (
	"github.com/chainaccess/gateway/service"
)

type ticketsInput struct {
	Action    string `json:"action" enum:"create,list,get,reply" doc:"create files a ticket, list shows yours, get reads one with its messages and evidence, reply adds to one, resolves or reopens it"`
	Subject   string `json:"subject,omitempty" minLength:"1" maxLength:"140" doc:"for create, required: what it is about, in one line of 1 to 140 characters" example:"eth_getLogs times out on Polygon"`
	Message   string `json:"message,omitempty" minLength:"1" maxLength:"5000" doc:"for create, required, and for reply unless it resolves or reopens: plain text of 1 to 5,000 characters; never put keys into it" example:"Since 14:00 UTC every call of 500 blocks times out."`
	RequestID string `json:"request_id,omitempty" format:"uuid" doc:"for create: the call that it is about, data.request_id of its error" example:"019a9f3e-7c1d-7b7a-8a51-0d6d3f2b9c11"`
	Category  string `json:"category,omitempty" enum:"incident,question,billing,other" doc:"for create: what it is about; absent, it follows from the evidence"`
	Reference string `json:"reference,omitempty" pattern:"^CAG-[1-9][0-9]{0,17}$" patternDescription:"the reference of a ticket, such as CAG-1001" doc:"for get and reply, required: the ticket, CAG- and its number" example:"CAG-1001"`
	Resolve   bool   `json:"resolve,omitempty" doc:"for reply: true says that nothing is left to do"`
	Reopen    bool   `json:"reopen,omitempty" doc:"for reply: true opens a resolved or closed ticket again"`
	Status    string `json:"status,omitempty" enum:"unresolved,open,waiting_customer,waiting_us,resolved,closed,all" default:"unresolved" doc:"for list: which tickets; unresolved (default) are open, waiting_customer and waiting_us"`
	Limit     int    `json:"limit,omitempty" minimum:"1" maximum:"100" default:"20" doc:"for list: how many, newest first, 1 to 100" example:"20"`
	Cursor    string `json:"cursor,omitempty" pattern:"^CAG-[1-9][0-9]{0,17}$" patternDescription:"the reference of a ticket, such as CAG-1001" doc:"for list: next_cursor of the page before; absent for the first" example:"CAG-1001"`
}

type feedbackInput struct {
	Action string `json:"action" enum:"submit,list" doc:"submit records feedback, list shows yours with its status and what was replied"`
	Kind   string `json:"kind,omitempty" enum:"feature,chain,praise,complaint,other" doc:"for submit, required: feature is something to build, chain a chain to serve"`
	Title  string `json:"title,omitempty" minLength:"1" maxLength:"140" doc:"for submit, required: one line of 1 to 140 characters" example:"WebSocket subscriptions"`
	Body   string `json:"body,omitempty" maxLength:"5000" doc:"for submit: more of it, up to 5,000 characters of plain text" example:"We follow new heads and would rather not poll."`
	Chain  string `json:"chain,omitempty" enum:"eth_mainnet,base_mainnet,arbitrum_one,optimism_mainnet,polygon_pos,solana_mainnet" doc:"for submit: the served chain that it is about; absent for none"`
	Status string `json:"status,omitempty" enum:"new,reviewed,planned,shipped,declined" doc:"for list: only feedback with this status; absent for all"`
	Limit  int    `json:"limit,omitempty" minimum:"1" maximum:"100" default:"20" doc:"for list: how many, newest first, 1 to 100" example:"20"`
	Cursor string `json:"cursor,omitempty" format:"uuid" doc:"for list: next_cursor of the page before; absent for the first" example:"019a9f3e-7c1d-7b7a-8a51-0d6d3f2b9c11"`
}

// supportTools are the tools for support and feedback.
func supportTools(c *service.Registry) []*tool {
	return []*tool{
		{
			name: "manage_tickets", title: "Ask support", input: ticketsInput{}, selector: "action", hints: 0,
			ways: []way{
				{of: c.CreateTicket, when: "create"},
				{of: c.ListTickets, when: "list"},
				{of: c.GetTicket, when: "get"},
				{of: c.ReplyTicket, when: "reply"},
			},
			about: about{
				Purpose: "Files a ticket with the people who run the service, lists yours, reads one with its " +
					"evidence, or replies, resolves and reopens.",
				Use: "A call failed and the steps of its error did not help, or something only people can mend. Pass " +
					"the request_id of the error: the call, 24 hours of refusals, your key's limits and the chain's " +
					"state are attached, never parameters or keys.",
				Instead: "explain_error tells at once what a code means and what to do; what_can_i_do which limit " +
					"stands in the way; manage_feedback takes wishes.",
				Cost: costsNothing,
				Limits: "100 unresolved tickets of an account, 50 a day (10 without an owner), 190 messages of a " +
					"ticket before the last answers. Pages of 20, up to 100. Keys of agents and adopted keys see " +
					"their own tickets. A resolved ticket closes after seven days without an answer.",
				Fails: holderFails +
					"-32026 no ticket of yours has this reference, or no call of yours this request_id (recorded " +
					"some seconds after it, kept 30 days). -32602 a parameter is wrong, or the ticket is closed: " +
					"reply with reopen true.",
				Again: "To create with the same failing call within an hour joins the open ticket (joined true); " +
					"without a request_id each makes another. Each reply adds its message.",
			},
		},
		{
			name: "manage_feedback", title: "Give feedback", input: feedbackInput{}, selector: "action", hints: 0,
			ways: []way{{of: c.SubmitFeedback, when: "submit"}, {of: c.ListFeedback, when: "list"}},
			about: about{
				Purpose: "Records a wish, praise or a complaint about the service, or lists what you gave with its " +
					"status and the reply.",
				Use: "Something should be built or changed, a chain is missing, or something was good.",
				Instead: "manage_tickets for what fails and waits for an answer; join_enterprise_wishlist for an " +
					"agreement of your own.",
				Cost:   costsNothing,
				Limits: "1,000 for an account. Pages of 20, up to 100. Keys of agents and adopted keys see their own.",
				Fails:  holderFails + fieldFails,
				Again:  "Each submit records it again: list first when you lost an answer.",
			},
		},
		{
			name: "join_enterprise_wishlist", title: "Ask for an enterprise agreement", ways: one(c.JoinWishlist),
			hints: 0, keyFree: true,
			about: about{
				Purpose: "Tells the operator by mail what an enterprise agreement should hold; people answer to the " +
					"address that you give.",
				Use: "No plan is large enough, or dedicated capacity, a contract or guarantees are needed, and " +
					"your owner wants to be written to.",
				Instead: "list_plans shows what can be bought at once; manage_feedback takes wishes for the service " +
					"itself.",
				Cost: keyFreeCost,
				Limits: "1,000 characters. Five a day from one network address. The address gets one mail that " +
					"confirms it, the first time only, and the operator's answer.",
				Fails: "-32005 too many from your network: wait retry_after seconds. " + fieldFails,
				Again: "Each call tells it again. sent false: it is recorded, and contact is where to write.",
			},
		},
		{
			name: "join_waitlist", title: "Join the waitlist", ways: one(c.JoinWaitlist), hints: idempotent,
			keyFree: true,
			about: about{
				Purpose: "Puts an e-mail address on the list of those who hear when something opens.",
				Use: "Your owner wants to hear of the service and gave you the address for it; ask them before " +
					"you say product_updates true.",
				Instead: "get_key gives a key at once, without any list; join_enterprise_wishlist asks for an " +
					"agreement.",
				Cost: keyFreeCost,
				Limits: "20 a day from one network address. The address gets one mail that confirms it, the first " +
					"time only.",
				Fails: "-32005 too many from your network: wait retry_after seconds. " + fieldFails,
				Again: "The same address again changes nothing and says already_on_list true.",
			},
		},
	}
}
