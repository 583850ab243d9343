package console

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/chainaccess/gateway/service"
)

const (
	keysPerPage = 50
	// findableKeys is the number of keys from which on the page offers a filter.
	findableKeys = 7
	findField    = "find"
	pageField    = "page"
	showRevoked  = "revoked"
)

// keys lists the active or the revoked keys of the account that contain a text, newest first, in
// pages.
func (v *request) keys() error {
	list, err := ask(v, v.Calls.ListKeys, service.ListKeysInput{})
	if err != nil {
		return err
	}
	query := v.r.URL.Query()
	active, revoked := v.keyRows(list.Keys)
	p := keysPage{
		Total: len(list.Keys), Find: field{
			Name: findField, Label: "Find", Type: "search", Value: query.Get(findField), Most: 80,
		},
	}
	shown, chosen := active, ""
	if query.Get(statusField) == showRevoked {
		shown, chosen = revoked, showRevoked
	}
	p.Status = chosen
	p.Filters = filtersOf(pathKeys, [][2]string{
		{"", "Active (" + number(int64(len(active))) + ")"}, {
			showRevoked, "Revoked (" + number(int64(len(revoked))) + ")",
		},
	}, chosen)
	p.Findable = len(shown) >= findableKeys || p.Find.Value != ""
	shown = found(shown, p.Find.Value)
	p.Keys = shown
	if page, pages := pageOf(query.Get(pageField), len(shown)); pages > 1 {
		p.Keys = shown[(page-1)*keysPerPage : min(page*keysPerPage, len(shown))]
		p.Pages = "Page " + number(int64(page)) + " of " + number(int64(pages))
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
	return v.show(http.StatusOK, p)
}

// noKeys explains why a list is empty and links to the next step.
func noKeys(chosen, find string) *empty {
	switch {
	case find != "":
		return &empty{
			Title: "No key matches", Text: "The search covers names, doors and the first characters of keys.",
			Action: &link{"Show all", keysAt(chosen, "", 1)},
		}
	case chosen == showRevoked:
		return &empty{
			Title: "No revoked keys",
			Text:  "Revoked keys are listed here. Their usage stays on the statements.",
		}
	}
	return &empty{
		Title: "No key yet", Text: "A key is what programs send with each call.", Action: &link{
			"Create key", pathKeys + "/new",
		},
	}
}

// found returns the rows that contain a text, ignoring case.
func found(rows []keyRow, text string) []keyRow {
	text = strings.ToLower(strings.TrimSuffix(strings.TrimSpace(text), "…"))
	if text == "" {
		return rows
	}
	var some []keyRow
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
		query.Set(statusField, chosen)
	}
	if find != "" {
		query.Set(findField, find)
	}
	if page > 1 {
		query.Set(pageField, strconv.Itoa(page))
	}
	if len(query) == 0 {
		return pathKeys
	}
	return pathKeys + "?" + query.Encode()
}
