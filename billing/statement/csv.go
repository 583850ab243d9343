package statement

import (
	"regexp"
	"strconv"
	"strings"
)

// columns are the columns of a statement's CSV.
var columns = []string{
	"account", "period", "key id", "prefix", "key name", "agent", "chain", "class", "requests", "billable", "units",
	"cache hits", "refusals",
}

// MediaType is the media type of tables.
const MediaType = "text/csv; charset=utf-8; header=present"

// byteOrderMark makes spreadsheets read the table as UTF-8.
const byteOrderMark = "\ufeff"

// Table builds a CSV table (RFC 4180, UTF-8 with a byte order mark). Text is always quoted, and no
// cell is a formula to a spreadsheet, whichever character that uses as the separator.
type Table struct{ text strings.Builder }

// NewTable starts a table with the names of its columns, which must not need quotes.
func NewTable(columns []string) *Table {
	var t Table
	t.text.WriteString(byteOrderMark + strings.Join(columns, ",") + lineEnd)
	return &t
}

// Row adds a row: text cells, then numbers.
func (t *Table) Row(cells []string, figures ...string) {
	for _, cell := range cells {
		t.text.WriteString(`"` + quoted.Replace(harmless(cell)) + `",`)
	}
	t.text.WriteString(strings.Join(figures, ",") + lineEnd)
}

// String returns the table so far.
func (t *Table) String() string { return t.text.String() }

// CSV returns the usage of a statement as CSV: a row for each key, chain and class. Adjustments
// follow, under their own periods.
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

// quoted escapes text between quotes (RFC 4180).
var quoted = strings.NewReplacer(`"`, `""`, "\r", "", "\n", lineEnd)

// formula matches where a spreadsheet would see a formula: at the start of text, and after any
// character that some spreadsheet or locale uses as the separator, because one with another
// separator than the comma ignores the quotes. East Asian spreadsheets also accept full-width
// signs.
var formula = regexp.MustCompile(`((?:^|[;,|\t\r\n])[\s\pZ"]*)([=+\-@＝＋－＠])`)

// harmless prefixes with an apostrophe what a spreadsheet would take for a formula (OWASP, CSV
// injection).
func harmless(text string) string {
	text = formula.ReplaceAllString(text, "$1'$2")
	if text != "" && strings.ContainsRune("\t\r\n", rune(text[0])) {
		return "'" + text
	}
	return text
}

// FileName returns the name under which the table is downloaded.
func (s Statement) FileName() string { //nolint:gocritic // a copy does no harm
	return "statement-" + s.Period + ".csv"
}
