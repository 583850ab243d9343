package statement

import (
	"regexp"
	"strconv"
	"strings"
)

// columns of a statement as a table.
var columns = []string{
	"account", "period", "key id", "prefix", "key name", "agent", "chain", "class", "requests", "billable", "units", "cache hits", "refusals",
}

// byteOrderMark has spreadsheets read the table as UTF-8.
const byteOrderMark = "\ufeff"

// CSV is the usage of a statement as a table (RFC 4180, UTF-8 with a byte order mark): a row for each key, chain and class. Adjustments follow, under
// the periods that they are of. Text is quoted always, and no cell is a formula to a spreadsheet, whatever character that takes for the separator.
func (s Statement) CSV() string { //nolint:gocritic // a copy does no harm
	var b strings.Builder
	b.WriteString(byteOrderMark)
	b.WriteString(strings.Join(columns, ",") + lineEnd)
	rows(&b, s.Account, s.Period, s.Keys)
	for i := range s.Adjustments {
		rows(&b, s.Account, s.Adjustments[i].Period, s.Adjustments[i].Keys)
	}
	return b.String()
}

const lineEnd = "\r\n"

func rows(b *strings.Builder, of, period string, keys []Key) {
	for i := range keys {
		k, agent := &keys[i], ""
		if k.Agent != nil {
			agent = k.Agent.Name
			if agent == "" {
				agent = k.Agent.ID
			}
		}
		for j := range k.Chains {
			for _, c := range k.Chains[j].Classes {
				for _, text := range []string{of, period, k.ID, harmless(k.Prefix), harmless(k.Name), harmless(agent), harmless(k.Chains[j].Chain), harmless(c.Class)} {
					b.WriteString(`"` + quoted.Replace(text) + `",`)
				}
				b.WriteString(strings.Join([]string{
					strconv.FormatInt(c.Requests, 10), strconv.FormatInt(c.Billable, 10), c.Units.String(), strconv.FormatInt(c.CacheHits, 10),
					strconv.FormatInt(c.Refusals, 10),
				}, ",") + lineEnd)
			}
		}
	}
}

// quoted is text between quotes (RFC 4180).
var quoted = strings.NewReplacer(`"`, `""`, "\r", "", "\n", lineEnd)

// formula finds where a spreadsheet would begin one: at the begin of text, and behind whatever separates cells in some language of some program, for
// one that takes another separator than the comma does not see the quotes. East Asian ones take full-width signs as well.
var formula = regexp.MustCompile(`((?:^|[;,|\t\r\n])[\s\pZ"]*)([=+\-@＝＋－＠])`)

// harmless marks text that a spreadsheet would take for a formula as text, with an apostrophe (OWASP, CSV injection).
func harmless(text string) string {
	text = formula.ReplaceAllString(text, "$1'$2")
	if text != "" && strings.ContainsRune("\t\r\n", rune(text[0])) {
		return "'" + text
	}
	return text
}

// FileName is what the table is called when it is saved.
func (s Statement) FileName() string { //nolint:gocritic // a copy does no harm
	return "statement-" + s.Period + ".csv"
}
