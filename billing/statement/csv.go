package statement

import (
	"regexp"
	"strconv"
	"strings"
)

// columns of a statement as a table.
var columns = []string{
	"account", "period", "key id", "prefix", "key name", "agent", "chain", "class", "requests", "billable", "units",
	"cache hits", "refusals",
}

// byteOrderMark has spreadsheets read the table as UTF-8.
const byteOrderMark = "\ufeff"

// Table is a table being written (RFC 4180, UTF-8 with a byte order mark). Text is quoted always,
// and no cell is a formula to a spreadsheet, whatever character that takes for the separator.
type Table struct{ text strings.Builder }

// NewTable begins a table with the names of its columns, which hold nothing that needs quotes.
func NewTable(columns []string) *Table {
	var t Table
	t.text.WriteString(byteOrderMark + strings.Join(columns, ",") + lineEnd)
	return &t
}

// Row adds a row: cells of text, then figures.
func (t *Table) Row(cells []string, figures ...string) {
	for _, cell := range cells {
		t.text.WriteString(`"` + quoted.Replace(harmless(cell)) + `",`)
	}
	t.text.WriteString(strings.Join(figures, ",") + lineEnd)
}

// String is the table so far.
func (t *Table) String() string { return t.text.String() }

// CSV is the usage of a statement as a table: a row for each key, chain and class. Adjustments
// follow, under the periods that they are of.
func (s Statement) CSV() string { //nolint:gocritic // a copy does no harm
	t := NewTable(columns)
	t.rows(s.Account, s.Period, s.Keys)
	for i := range s.Adjustments {
		t.rows(s.Account, s.Adjustments[i].Period, s.Adjustments[i].Keys)
	}
	return t.String()
}

const lineEnd = "\r\n"

func (t *Table) rows(of, period string, keys []Key) {
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
				t.Row([]string{of, period, k.ID, k.Prefix, k.Name, agent, k.Chains[j].Chain, c.Class},
					strconv.FormatInt(c.Requests, 10), strconv.FormatInt(c.Billable, 10), c.Units.String(),
					strconv.FormatInt(c.CacheHits, 10), strconv.FormatInt(c.Refusals, 10))
			}
		}
	}
}

// quoted is text between quotes (RFC 4180).
var quoted = strings.NewReplacer(`"`, `""`, "\r", "", "\n", lineEnd)

// formula finds where a spreadsheet would begin one: at the begin of text, and behind whatever
// separates cells in some language of some program, for one that takes another separator than the
// comma does not see the quotes. East Asian ones take full-width signs as well.
var formula = regexp.MustCompile(`((?:^|[;,|\t\r\n])[\s\pZ"]*)([=+\-@＝＋－＠])`)

// harmless marks text that a spreadsheet would take for a formula as text, with an apostrophe
// (OWASP, CSV injection).
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
