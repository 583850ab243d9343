package mailbox

import (
	_ "embed"
	"encoding/json"
	"html/template"
	"net/http"
	"slices"

	"github.com/chainaccess/gateway/internal/sandbox/thismachine"
)

// Path is where the pages stand; the list for programs is at Path + ".json".
const Path = "/dev/mail"

//go:embed pages.html
var pagesText string

var pages = template.Must(template.New("pages").Parse(pagesText))

// Policies of content: nothing runs and nothing is loaded. A mail may not even be told which page
// shows it.
const (
	pagePolicy = "default-src 'none'; style-src 'unsafe-inline'; frame-src 'self'; base-uri 'none'; form-action " +
		"'none'; frame-ancestors 'none'"
	mailPolicy = "sandbox; default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; " +
		"frame-ancestors 'self'"
)

// Handler shows what was caught: Path lists it, Path/ID is one mail, Path/ID/html its HTML,
// Path.json all of it for programs, newest first, or those to ?to=ADDRESS. Requests must name an IP
// address or localhost as host, so that no web page reads it through a name of its own.
func (b *Box) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+Path, func(w http.ResponseWriter, r *http.Request) { show(w, "list", b.newestFirst(r)) })
	mux.HandleFunc("GET "+Path+".json", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(b.newestFirst(r)) // the reader went away
	})
	mux.HandleFunc("GET "+Path+"/{id}", func(w http.ResponseWriter, r *http.Request) {
		if m, ok := b.find(w, r); ok {
			show(w, "mail", m)
		}
	})
	mux.HandleFunc("GET "+Path+"/{id}/html", func(w http.ResponseWriter, r *http.Request) {
		if m, ok := b.find(w, r); ok {
			w.Header().Set("Content-Security-Policy", mailPolicy)
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write([]byte(m.HTML)) // the reader went away
		}
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if !thismachine.Named(r.Host) {
			http.Error(w, "ask for this page by an IP address or as localhost", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func (b *Box) newestFirst(r *http.Request) []Mail {
	mails := b.Mails()
	if to := r.URL.Query().Get("to"); to != "" {
		mails = b.To(to)
	}
	slices.Reverse(mails)
	if mails == nil {
		mails = []Mail{} // an empty list for programs
	}
	return mails
}

func (b *Box) find(w http.ResponseWriter, r *http.Request) (Mail, bool) {
	for _, m := range b.Mails() {
		if m.ID == r.PathValue("id") {
			return m, true
		}
	}
	http.Error(w, "there is no such mail any more: "+Path+" lists those that are kept", http.StatusNotFound)
	return Mail{}, false
}

func show(w http.ResponseWriter, page string, data any) {
	w.Header().Set("Content-Security-Policy", pagePolicy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = pages.ExecuteTemplate(w, page, data) // the reader went away
}
