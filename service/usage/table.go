package usage

import (
	"context"
	"strconv"
	"time"

	"github.com/chainaccess/gateway/billing/statement"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store/usagedb"
)

// UsageTable is the usage of a range as a CSV file.
type UsageTable struct {
	FileName string `json:"file_name"`
	Media    string `json:"media"`
	Text     string `json:"text"`
}

// Document returns the file.
func (t UsageTable) Document() (name, media, text string) { return t.FileName, t.Media, t.Text }

// maxLines bounds a table to about twenty megabytes, which spreadsheet programs can open.
const maxLines = 100_000

// exportWait is when to retry while another table is made. The largest takes about a second.
const exportWait = 2 * time.Second

// usageColumns are the columns of a statement, plus time and method.
var usageColumns = []string{
	"from (UTC)", "key id", "prefix", "key name", "agent", "chain", "service", "method", "class", "requests",
	"billable", "units", "cache hits", "refusals",
}

func (h *handlers) exportUsage() *operation.Operation[ExploreUsageInput, UsageTable] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "export_usage", Title: "Usage as a table", Access: operation.Users, Reads: true,
		Description: "Gives what was used in a range as CSV: a row for each hour or UTC day, key, chain, method and " +
			"class. At most " +
			plan.Group(strconv.Itoa(maxLines)) +
			" rows; a range that has more is refused, and so is a second table of an account while one is made. It " +
			"costs nothing.",
		Fails: []fault.Reason{fault.NotYours, fault.DurableUnavailable},
	}, h.runExportUsage)
}

func (h *handlers) runExportUsage(ctx context.Context, c *operation.Call, in ExploreUsageInput) (UsageTable, error) {
	now := h.Now()
	w, s, err := h.exploredWindow(ctx, c, &in, now)
	if err != nil {
		return UsageTable{}, err
	}
	if _, busy := h.exporting.LoadOrStore(c.Account.ID, nil); busy {
		f := fault.New(fault.RateWindow,
			"A table of this account's usage is being made now, and one is made at a time. Wait some seconds, then "+
				"ask again.")
		f.RetryAfter = exportWait
		return UsageTable{}, f
	}
	defer h.exporting.Delete(c.Account.ID)
	lines, err := h.Store.UsageLines(ctx, &w, s.step < 24*time.Hour, h.maxLines+1)
	if err != nil {
		return UsageTable{}, operation.ToFault(err, "usage")
	}
	if len(lines) > h.maxLines {
		return UsageTable{}, fault.New(fault.FieldRefused,
			"range has more than %s rows of usage. Choose a shorter range, one key or one chain.",
			plan.Group(strconv.Itoa(h.maxLines))).
			With("most_rows", h.maxLines)
	}
	keys, err := h.keysOf(ctx, keysIn(lines))
	if err != nil {
		return UsageTable{}, err
	}
	table := statement.NewTable(usageColumns)
	for i := range lines {
		l := &lines[i]
		k := keyEntry(c.Account.ID, l.Key, keys)
		table.Row([]string{
			l.Start.Format(time.RFC3339), k.KeyID, k.KeyPrefix, k.Name, k.Agent, l.Chain, l.Service, l.Method, l.Class,
		},
			strconv.FormatInt(l.Requests, 10), strconv.FormatInt(l.Billable, 10), l.Units.String(),
			strconv.FormatInt(l.Hits, 10), strconv.FormatInt(l.Refused(), 10))
	}
	return UsageTable{
		FileName: "usage-" + in.Range + "-" + now.UTC().Format(time.DateOnly) + ".csv", Media: statement.MediaType,
		Text: table.String(),
	}, nil
}

// keysIn returns the keys of lines without duplicates.
func keysIn(lines []usagedb.UsageLine) []usagedb.UsageGroup {
	seen := map[account.KeyID]bool{}
	var groups []usagedb.UsageGroup
	for i := range lines {
		if k := lines[i].Key; !seen[k] {
			seen[k] = true
			groups = append(groups, usagedb.UsageGroup{Key: k})
		}
	}
	return groups
}
