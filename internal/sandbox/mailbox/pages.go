package mailbox

import (
	_ "embed"
	"encoding/json"
	"html/template"
	"net/http"
	"slices"

	"github.com/chainaccess/gateway/internal/sandbox/thismachine"
)

// Path is the path of the pages; the list for programs is at Path + ".json".
const Path = "/dev/mail"

//go:embed pages.html
var pagesText string

var pages = template.Must(template.New("pages").Parse(pagesText))

// Content security policies: nothing runs and nothing is loaded. A mail does not learn which page
// shows it.
const (
	pagePolicy = "default-src 'none'; style-src 'unsafe-inline'; frame-src 'self'; base-uri 'none'; form-action " +
		"'none'; frame-ancestors 'none'"
	mailPolicy = "sandbox; default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; " +
		"frame-ancestors 'self'"
)

// Handler shows the kept mails: Path lists them, Path/ID is a mail, Path/ID/html its HTML, and
// Path.json returns them as JSON, newest first. ?to=ADDRESS filters by recipient. The Host of a
// request must be an IP address or localhost, which prevents DNS rebinding by web pages.
func (b *Box) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+Path, func(w http.ResponseWriter, r *http.Request) { show(w, "list", b.newestFirst(r)) })
	mux.HandleFunc("GET "+Path+".json", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(b.newestFirst(r)) // the client may have disconnected
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
			_, _ = w.Write([]byte(m.HTML)) // the client may have disconnected
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
		mails = []Mail{} // encoded as [], not null
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
	_ = pages.ExecuteTemplate(w, page, data) // the client may have disconnected
}
