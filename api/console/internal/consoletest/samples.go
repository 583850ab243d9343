package consoletest

import (
	"time"

	"github.com/chainaccess/gateway/api/console/view"
)

// Hostile is a name that somebody could give to a key, an agent or an account.
const Hostile = `"><script>alert(1)</script><img src=x onerror=alert(2)> {{.}} 'x' </textarea>`

// Long has no place for a line break.
const Long = "averyveryverylongnamewithoutanyplacetobreakitwhichsomebodywilltypesoonerorlater.example"

// Now is the present of the tests.
var Now = time.Date(2026, time.November, 20, 14, 5, 0, 0, time.UTC)

// Reader returns a reader of pages in UTC.
func Reader() view.Reader { return view.Reader{Now: Now, Zone: time.UTC} }

func samplePerson() *view.Person {
	return &view.Person{
		Email: "mira@studio-north.example", Account: "Studio North", Plan: "Free",
		Period: view.Period(time.Date(2026, time.November, 1, 0, 0, 0, 0, time.UTC),
			time.Date(2026, time.December, 1, 0, 0, 0, 0, time.UTC)),
		Left: "10 days left", Others: []view.OtherAccount{{ID: "2", Name: "Personal"}},
	}
}

// SampleKeys returns rows of keys, the first with a name that somebody chose.
func SampleKeys(name string) []view.KeyRow {
	r := Reader()
	return []view.KeyRow{
		{
			ID: "019a9f2e-1111-7000-8000-000000000001", Name: name, Prefix: "cag_aHCrXoRO", Door: "account",
			Status: view.Status{Tone: view.Good, Text: "active"}, Created: r.Moment(Now.Add(-300 * time.Hour)),
			Used: r.Moment(Now.Add(-3 * time.Minute)), Cap: "500,000",
		},
		{
			ID: "019a9f2e-1111-7000-8000-000000000002", Name: "Indexer, staging", Prefix: "cag_9d2LkqPz",
			Door: "account", Status: view.Status{Tone: view.Good, Text: "active"},
			Created: r.Moment(Now.Add(-40 * time.Hour)),
			Cap:     "none",
		},
		{
			ID: "019a9f2e-1111-7000-8000-000000000003", Name: "trader-7", Prefix: "cag_00aTz81b", Door: "owner adopted",
			Agent: "trader-7", Status: view.Status{Tone: view.Good, Text: "active"},
			Created: r.Moment(Now.Add(-900 * time.Hour)),
			Used:    r.Moment(Now.Add(-26 * time.Hour)), Cap: "50,000",
		},
	}
}

// SampleServices returns a form of services with an error.
func SampleServices() []view.ServiceLine {
	return []view.ServiceLine{
		{Key: "rpc", Label: "RPC", About: "JSON-RPC on every chain", On: true, Used: "612,340"},
		{Key: "data", Label: "Data", About: "balances and history", LockedOff: true, Used: "0"},
		{Key: "gas", Label: "Gas", About: "fee suggestions", On: true, Cap: "20000", Used: "1,204"},
		{
			Key: "tx_status", Label: "Transaction status", About: "status of a transaction", Used: "0", Cap: "x",
			Error: "Takes whole units from 1 to 1,000,000,000,000.",
		},
	}
}

// SampleField returns a required field.
func SampleField(name, label string) view.Field {
	return view.Field{Name: name, Label: label, Required: true, Rule: "1 to 80 characters."}
}
