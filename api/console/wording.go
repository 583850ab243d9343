package console

import "strings"

// places replaces the names of members of an error's data by where the pages show them.
var places = strings.NewReplacer(
	"at the path in data.support", "with its request id", "at data.support", "with its request id", "data.support",
	"the support page", "at data.docs", "at /docs/methods", "data.docs", "/docs/methods",
	"at data.contact", "in a ticket", "data.contact", "a ticket",
	"at the path in data.enable", "in the settings, or on the page of the key",
	"data.blocked_by is key when the key's own switch blocks it",
	"The page of the key says whether its own switch blocks it", "by the hash or signature in data",
	"by its hash or signature", "data.reason", "the answer", "; data.scope says whether the key's or the account's",
	", the key's or the account's", "take the next door named in data.next_door",
	"bind the key to a wallet, or have an account adopt it", "take one of the doorways in data.doorways",
	"have an account adopt one",
)

// forPeople rewrites a text of a refusal for a reader of a page, who does not see the envelope.
func forPeople(text string) string { return places.Replace(text) }

// stepsForPeople rewrites the next steps of a refusal in the same way.
func stepsForPeople(steps []string) []string {
	told := make([]string, len(steps))
	for i, s := range steps {
		told[i] = forPeople(s)
	}
	return told
}
