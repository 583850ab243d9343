package oascheck_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/internal/testkit/oascheck"
)

const described = `{
  "openapi": "3.1.0", "info": {"title": "t", "version": "1"},
  "paths": {
    "/things": {"get": {"responses": {
      "200": {"description": "ok", "headers": {"X-Id": {"$ref": "#/components/headers/Id"}, "Left": {"schema": {"type": "integer"}}},
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}}},
      "204": {"description": "none"}
    }}},
    "/things/{id}": {"get": {"responses": {"200": {"description": "ok", "content": {"text/html": {"schema": {"type": "string"}}}}}}},
    "/things/{id}.json": {"get": {"responses": {"200": {"description": "ok", "content": {"application/json": {"schema": {"type": "object"}}}}}}}
  },
  "components": {
    "headers": {"Id": {"required": true, "schema": {"type": "string"}}},
    "schemas": {
      "Thing": {"type": "object", "required": ["id"], "additionalProperties": false, "properties": {"id": {"type": "string", "format": "uuid"}}},
      "Refusal": {"type": "object", "required": ["error"], "properties": {"error": {"type": "object"}}}
    }
  }
}`

const thing = `{"id":"0199d5b2-6f00-7c3a-9d4e-2b1f0a9c8e77"}`

func load(t *testing.T) *oascheck.Document {
	t.Helper()
	d, err := oascheck.Load([]byte(described), "Refusal")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestCheck_SeesWhatTheDocumentDoesNotDeclare(t *testing.T) {
	t.Parallel()
	d := load(t)
	json, page := http.Header{
		"Content-Type": {"application/json; charset=utf-8"}, "X-Id": {"1"},
	}, http.Header{"Content-Type": {"text/html"}}
	with := func(h http.Header, name, value string) http.Header {
		h = h.Clone()
		h.Set(name, value)
		return h
	}
	for name, row := range map[string]struct {
		method, path string
		status       int
		header       http.Header
		body         string
		wrong        string // part of the error; empty for none
	}{
		"as declared": {"GET", "/things", 200, json, thing, ""},
		"a header in another spelling": {
			"GET", "/things", 200, http.Header{
				"content-type": nil, "Content-Type": {"application/json"}, "X-ID": {"1"},
			}, thing, "",
		},
		"a status that is not declared": {"GET", "/things", 201, json, thing, "the status is not declared"},
		"a member that is not declared": {
			"GET", "/things", 200, json, `{"id":"0199d5b2-6f00-7c3a-9d4e-2b1f0a9c8e77","more":1}`, "more",
		},
		"a member that is missing":    {"GET", "/things", 200, json, `{}`, "id"},
		"a format that does not hold": {"GET", "/things", 200, json, `{"id":"7"}`, "uuid"},
		"no JSON":                     {"GET", "/things", 200, json, `{"id":`, "no JSON"},
		"a header that is missing": {
			"GET", "/things", 200, http.Header{"Content-Type": {"application/json"}}, thing, "X-Id",
		},
		"a header of another type": {"GET", "/things", 200, with(json, "Left", "some"), thing, "Left"},
		"another media type": {
			"GET", "/things", 200, with(json, "Content-Type", "text/plain"), thing, "Content-Type",
		},
		"a body where none is declared":      {"GET", "/things", 204, json, thing, "none is declared"},
		"no body where none is declared":     {"GET", "/things", 204, http.Header{}, "", ""},
		"the head of what is declared":       {"HEAD", "/things", 200, json, "", ""},
		"the head with another status":       {"HEAD", "/things", 404, json, "", "the status is not declared"},
		"a path with a parameter":            {"GET", "/things/7", 200, page, "<p>7</p>", ""},
		"a path with an empty parameter":     {"GET", "/things/", 200, page, "<p>7</p>", "not declared"},
		"a path with more than a parameter":  {"GET", "/things/7.json", 200, json, `{}`, ""},
		"the same as what is less said":      {"GET", "/things/7.json", 200, page, "<p>7</p>", "Content-Type"},
		"a route that is not declared":       {"GET", "/others", 200, json, thing, "not declared"},
		"a refusal of an undeclared route":   {"GET", "/others", 404, json, `{"error":{}}`, ""},
		"another body of an undeclared one":  {"GET", "/others", 404, json, `{"detail":"?"}`, "error"},
		"a method without the Allow header":  {"POST", "/things", 405, json, `{"error":{}}`, "Allow"},
		"a method that is told what is used": {"POST", "/things", 405, with(json, "Allow", "GET"), `{"error":{}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := d.Check(&oascheck.Answer{
				Method: row.method, URL: &url.URL{Path: row.path}, Status: row.status,
				Header: row.header, Body: []byte(row.body),
			})
			switch {
			case row.wrong == "" && err != nil:
				t.Error(err)
			case row.wrong != "" && (err == nil || !strings.Contains(err.Error(), row.wrong)):
				t.Errorf("got %v, want a complaint of %q", err, row.wrong)
			}
		})
	}
}

func TestTransport_EveryAnswerIsJudgedWhenItIsRead(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Id", "1")
		w.Header().Set("Content-Type", "application/json")
		body := []byte(thing)
		if r.URL.RawQuery == "wrong" {
			body = []byte(`{"id":7}`)
		}
		if r.Header.Get("Accept-Encoding") == "gzip" {
			w.Header().Set("Content-Encoding", "gzip")
			var small bytes.Buffer
			z := gzip.NewWriter(&small)
			_, _ = z.Write(body)
			_ = z.Close()
			body = small.Bytes()
		}
		_, _ = w.Write(body)
	}))
	t.Cleanup(server.Close)
	var complaints []error
	client := &http.Client{
		Transport: load(t).Transport(server.Client().Transport, func(err error) {
			complaints = append(complaints, err)
		}),
	}
	ask := func(path, coding string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if coding != "" {
			req.Header.Set("Accept-Encoding", coding)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	ask("/things", "")
	ask("/things", "gzip")
	if len(complaints) != 0 {
		t.Fatalf("right answers are complained of: %v", complaints)
	}
	ask("/things?wrong", "")
	ask("/things?wrong", "gzip")
	ask("/others", "")
	if len(complaints) != 3 {
		t.Errorf("three wrong answers gave %d complaints: %v", len(complaints), complaints)
	}
}
