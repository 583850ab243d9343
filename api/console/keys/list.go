package keys

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/chainaccess/gateway/api/console/paths"
	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/service/keys"
)

const (
	keysPerPage = 50
	// findableKeys is the number of keys from which on the page offers a filter.
	findableKeys = 7
	findField    = "find"
	pageField    = "page"
	showRevoked  = "revoked"
)

// listKeys lists the active or the revoked keys of the account that contain a text, newest first,
// in pages.
func listKeys(v *site.Request) error {
	list, err := site.Ask(v, v.Calls.ListKeys, keys.ListKeysInput{})
	if err != nil {
		return err
	}
	query := v.R.URL.Query()
	active, revoked := v.Reader.KeyRows(list.Keys)
	p := keysPage{
		Total: len(list.Keys), Find: view.Field{
			Name: findField, Label: "Find", Type: "search", Value: query.Get(findField), Most: 80,
		},
	}
	shown, chosen := active, ""
	if query.Get(view.StatusField) == showRevoked {
		shown, chosen = revoked, showRevoked
	}
	p.Status = chosen
	p.Filters = view.FiltersOf(paths.Keys, [][2]string{
		{"", "Active (" + view.Number(int64(len(active))) + ")"}, {
			showRevoked, "Revoked (" + view.Number(int64(len(revoked))) + ")",
		},
	}, chosen)
	p.Findable = len(shown) >= findableKeys || p.Find.Value != ""
	shown = found(shown, p.Find.Value)
	p.Keys = shown
	if page, pages := pageOf(query.Get(pageField), len(shown)); pages > 1 {
		p.Keys = shown[(page-1)*keysPerPage : min(page*keysPerPage, len(shown))]
		p.Pages = "Page " + view.Number(int64(page)) + " of " + view.Number(int64(pages))
		at := func(n int) string { return keysAt(chosen, p.Find.Value, n) }
		if page > 1 {
			p.Newer = at(page - 1)
		}
		if page < pages {
			p.Older = at(page + 1)
		}
	}
	if len(p.Keys) == 0 {
		p.Empty = noKeys(chosen, p.Find.Value)
	}
	return v.Show(http.StatusOK, p)
}

// noKeys explains why a list is empty and links to the next step.
func noKeys(chosen, find string) *view.Empty {
	switch {
	case find != "":
		return &view.Empty{
			Title: "No key matches", Text: "The search covers names, doors and the first characters of keys.",
			Action: &view.Link{Text: "Show all", To: keysAt(chosen, "", 1)},
		}
	case chosen == showRevoked:
		return &view.Empty{
			Title: "No revoked keys",
			Text:  "Revoked keys are listed here. Their usage stays on the statements.",
		}
	}
	return &view.Empty{
		Title: "No key yet", Text: "A key is what programs send with each call.", Action: &view.Link{
			Text: "Create key", To: paths.Keys + "/new",
		},
	}
}

// found returns the rows that contain a text, ignoring case.
func found(rows []view.KeyRow, text string) []view.KeyRow {
	text = strings.ToLower(strings.TrimSuffix(strings.TrimSpace(text), "…"))
	if text == "" {
		return rows
	}
	var some []view.KeyRow
	for _, r := range rows {
		if strings.Contains(strings.ToLower(r.Name+"\n"+r.Prefix+"\n"+r.Door), text) {
			some = append(some, r)
		}
	}
	return some
}

// pageOf parses a page number and clamps it to the pages that n rows have.
func pageOf(text string, n int) (page, pages int) {
	pages = max(1, (n+keysPerPage-1)/keysPerPage)
	page, err := strconv.Atoi(text)
	if err != nil {
		return 1, pages
	}
	return min(max(page, 1), pages), pages
}

func keysAt(chosen, find string, page int) string {
	query := url.Values{}
	if chosen != "" {
		query.Set(view.StatusField, chosen)
	}
	if find != "" {
		query.Set(findField, find)
	}
	if page > 1 {
		query.Set(pageField, strconv.Itoa(page))
	}
	if len(query) == 0 {
		return paths.Keys
	}
	return paths.Keys + "?" + query.Encode()
}
