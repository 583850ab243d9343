package view

import (
	"strconv"
	"strings"

	"github.com/chainaccess/gateway/metering/plan"
)

// WordsOf returns the words of a value, or the value itself when it has none.
func WordsOf(choices [][2]string, value string) string {
	for _, c := range choices {
		if c[0] == value {
			return c[1]
		}
	}
	return value
}

// Plainly rewrites a schema error as an instruction. It returns an unknown one unchanged.
func Plainly(problem string) string {
	for begin, say := range schemaWords {
		limit, found := strings.CutPrefix(problem, begin)
		if !found {
			continue
		}
		if n, err := strconv.ParseFloat(limit, 64); err == nil && n >= 0 && n < 1<<53 {
			limit = plan.Group(strconv.FormatInt(int64(n), 10))
			if begin == "expected length >= " && n == 1 {
				return "enter something here"
			}
		}
		return strings.ReplaceAll(say, "#", limit)
	}
	return problem
}

// schemaWords map the beginning of schema errors to instructions; # is replaced by the number that
// follows.
var schemaWords = map[string]string{
	"expected required property":           "enter something here",
	"expected length >= ":                  "enter at least # characters",
	"expected length <= ":                  "enter # characters at most",
	"expected number >= ":                  "enter # or more",
	"expected number <= ":                  "enter # or less",
	"expected number > ":                   "enter more than #",
	"expected number < ":                   "enter less than #",
	"expected string to match pattern":     "use the format that is described next to the field",
	"expected string to be RFC 5322 email": "enter a whole e-mail address, such as name@company.example",
	"expected value to be one of":          "choose one from the list",
}

// Sentence returns text with a capital letter at the beginning and a full stop at the end.
func Sentence(text string) string {
	if text == "" {
		return ""
	}
	text = strings.ToUpper(text[:1]) + text[1:]
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}

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

// ForPeople rewrites a text of a refusal for a reader of a page, who does not see the envelope.
func ForPeople(text string) string { return places.Replace(text) }

// StepsForPeople rewrites the next steps of a refusal in the same way.
func StepsForPeople(steps []string) []string {
	told := make([]string, len(steps))
	for i, s := range steps {
		told[i] = ForPeople(s)
	}
	return told
}
