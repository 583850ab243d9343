package statement

import (
	"encoding/csv"
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
// the periods that they are of. No cell is a formula to a spreadsheet.
func (s *Statement) CSV() string {
	var b strings.Builder
	b.WriteString(byteOrderMark)
	w := csv.NewWriter(&b)
	w.UseCRLF = true
	write := func(row []string) { _ = w.Write(row) } // memory takes everything
	write(columns)
	s.rows(s.Period, s.Keys, write)
	for i := range s.Adjustments {
		s.rows(s.Adjustments[i].Period, s.Adjustments[i].Keys, write)
	}
	w.Flush()
	return b.String()
}

func (s *Statement) rows(period string, keys []Key, write func([]string)) {
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
				write([]string{
					s.Account, period, k.ID, harmless(k.Prefix), harmless(k.Name), harmless(agent), harmless(k.Chains[j].Chain), harmless(c.Class),
					strconv.FormatInt(c.Requests, 10), strconv.FormatInt(c.Billable, 10), c.Units.String(), strconv.FormatInt(c.CacheHits, 10),
					strconv.FormatInt(c.Refusals, 10),
				})
			}
		}
	}
}

// harmless marks text that a spreadsheet would take for a formula as text, with an apostrophe (OWASP, CSV injection).
func harmless(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}

// FileName is what the table is called when it is saved.
func (s *Statement) FileName() string { return "statement-" + s.Period + ".csv" }
