package assets_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/chainaccess/gateway/internal/assets"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

var style = strings.Repeat("body { color: green }\n", 100)

func zipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func load(t *testing.T) *assets.Set {
	t.Helper()
	s, err := assets.Load("/files/", fstest.MapFS{
		"own/page.css": {Data: []byte(style)}, "own/icon.svg": {Data: []byte("<svg/>")},
		"kept/viewer.js.gz": {Data: zipped(t, style)}, "kept/notes.json": {Data: []byte("{}")},
	}, "own/*", "kept/*.gz")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func ask(t *testing.T, s *assets.Set, method, path, accept string) (*httptest.ResponseRecorder, bool) {
	t.Helper()
	w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody)
	if accept != "" {
		r.Header.Set("Accept-Encoding", accept)
	}
	return w, s.Serve(w, r, strings.TrimPrefix(path, "/files/"))
}

func TestFiles_AreCachedForAYearUnderNamesOfTheirContent(t *testing.T) {
	t.Parallel()
	s := load(t)
	for file, media := range map[string]string{
		"page.css": "text/css; charset=utf-8", "viewer.js": "text/javascript; charset=utf-8",
		"icon.svg": "image/svg+xml",
	} {
		t.Run(file, func(t *testing.T) {
			path, err := s.Path(file)
			name, kind, _ := strings.Cut(file, ".")
			if err != nil || !regexp.MustCompile(`^/files/`+name+`\.[0-9a-f]{12}\.`+kind+`$`).MatchString(path) {
				t.Fatalf("%s is at %q, %v", file, path, err)
			}
			w, found := ask(t, s, http.MethodGet, path, "")
			h := w.Result().Header
			in := expect.In(t, "%s", file)
			require.True(in, found)
			expect.Equal(in, w.Code, http.StatusOK)
			expect.Equal(in, h.Get("Content-Type"), media)
			expect.Equal(in, h.Get("Content-Encoding"), "")
			if h.Get("Cache-Control") != "public, max-age=31536000, immutable" ||
				h.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s goes out with %v", file, h)
			}
			if head, _ := ask(t, s, http.MethodHead, path, ""); head.Body.Len() != 0 ||
				head.Result().Header.Get("Content-Length") == "" {
				t.Errorf("HEAD of %s answers a body, or no length", file)
			}
		})
	}
	one, _ := s.Path("page.css")
	other, err := assets.Load("/files/", fstest.MapFS{"own/page.css": {Data: []byte(style + " ")}}, "own/*")
	if err != nil {
		t.Fatal(err)
	}
	if path, _ := other.Path("page.css"); path == one {
		t.Error("another content has the same name")
	}
}

func TestFiles_AreCompressedWhenAccepted(t *testing.T) {
	t.Parallel()
	s := load(t)
	for _, file := range []string{"page.css", "viewer.js"} {
		path, err := s.Path(file)
		if err != nil {
			t.Fatal(err)
		}
		for accept, want := range map[string]bool{
			"gzip, deflate, br": true, "br, gzip;q=0.5": true, "*": true, "GZIP": true, "gzip;q=0": false, "br": false,
			"": false, "identity, gzip;q=0.5": false, "gzip;q=x": false, "gzip;q=NaN": false,
		} {
			t.Run(accept, func(t *testing.T) {
				w, _ := ask(t, s, http.MethodGet, path, accept)
				h := w.Result().Header
				if got := h.Get("Content-Encoding") == "gzip"; got != want || h.Get("Vary") != "Accept-Encoding" {
					t.Errorf("%s for %q goes out with %v, want it compressed: %t", file, accept, h, want)
				}
				content := io.Reader(w.Body)
				if want {
					if content, err = gzip.NewReader(w.Body); err != nil {
						t.Fatal(err)
					}
				}
				if got, err := io.ReadAll(content); err != nil || string(got) != style {
					t.Errorf("%s for %q is something else (%v)", file, accept, err)
				}
			})
		}
	}
	path, _ := s.Path("icon.svg")
	if w, _ := ask(t, s, http.MethodGet, path, "gzip"); w.Result().Header.Get("Content-Encoding") != "" {
		t.Error("what is small goes out compressed")
	}
}

func TestFiles_UnknownAreNotServed(t *testing.T) {
	t.Parallel()
	s := load(t)
	for _, gone := range []string{
		"/files/page.css", "/files/page.000000000000.css", "/files/notes.json", "/files/", "/files/..%2fassets.go",
	} {
		if w, found := ask(t, s, http.MethodGet, gone, ""); found || w.Body.Len() != 0 {
			t.Errorf("%s is served", gone)
		}
	}
	if _, err := s.Path("none.css"); err == nil {
		t.Error("a file that is not there has an address")
	}
}

func TestFiles_ThatCannotBeServedStopTheStart(t *testing.T) {
	t.Parallel()
	for _, from := range []fstest.MapFS{
		{"a/x.exe": {Data: []byte("x")}}, {"a/x.js.gz": {Data: []byte("not compressed")}}, {"a/x": {}},
	} {
		if _, err := assets.Load("/", from, "a/*"); err == nil {
			t.Errorf("%v is taken", from)
		}
	}
}
