package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/service/operation"
)

// maxArguments is the default bound in bytes of an operation's body, which holds names, addresses
// and signatures.
const maxArguments = 64 << 10

// routeOperations registers a handler for each operation that has a route.
func (s *server) routeOperations(engine *gin.Engine) {
	tables := map[string]operation.Definition{}
	for _, c := range s.Capabilities.All() {
		if path, ok := strings.CutSuffix(c.Meta().Route.Path, asCSV); ok {
			tables[path] = c
		}
	}
	for _, c := range s.Capabilities.All() {
		route := c.Meta().Route
		page, paged := strings.CutSuffix(route.Path, asJSON)
		switch {
		case paged && strings.HasSuffix(page, "}"): // otherwise they are two different routes
			engine.Handle(route.Method, ginPath(page), besides(asJSON, s.operation(c), s.noRoute))
		case route.Path == "" || strings.HasSuffix(route.Path, asCSV):
		case tables[route.Path] != nil:
			engine.Handle(route.Method, ginPath(route.Path),
				besides(asCSV, s.operation(tables[route.Path]), s.operation(c)))
		default:
			engine.Handle(route.Method, ginPath(route.Path), s.operation(c))
		}
	}
}

// ginPath converts /keys/{id} to /keys/:id.
func ginPath(path string) string {
	return strings.NewReplacer("{", ":", "}", "").Replace(path)
}

// Suffixes of paths. asJSON ends the path of an operation whose page has the path without it; asCSV
// that of an operation that returns as a table what the path without it returns.
const (
	asJSON = ".json"
	asCSV  = ".csv"
)

// besides serves a path that ends with a parameter: with when the parameter has the suffix, which
// it removes, and without otherwise.
func besides(suffix string, with, without gin.HandlerFunc) gin.HandlerFunc {
	return func(c *gin.Context) {
		last := &c.Params[len(c.Params)-1]
		value, ok := strings.CutSuffix(last.Value, suffix)
		if !ok {
			without(c)
			return
		}
		last.Value = value
		with(c)
	}
}

// operation returns the handler of an operation. It collects the caller and the arguments, and
// renders the answer.
func (s *server) operation(op operation.Definition) gin.HandlerFunc {
	status := op.Meta().Route.Status
	return func(c *gin.Context) {
		h := c.Writer.Header()
		h["Cache-Control"] = noStoreValue
		answer, refusal := op.Serve(c.Request.Context(), s.caller(c), func() (map[string]any, *fault.Error) {
			return arguments(c, op)
		})
		if refusal != nil {
			s.refuse(c, refusal)
			return
		}
		if answer.Hit {
			h["X-Service-Cache"] = hitValue
		}
		tellWindow(h, &answer.Window, make([]string, windowHeaders))
		if file, ok := answer.Output.(document); ok {
			name, media, text := file.Document()
			h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
			h.Set("X-Content-Type-Options", "nosniff")
			c.Data(status, media, []byte(text))
			return
		}
		if answer.JSON == nil {
			given := status
			if answer.Later > 0 {
				given = http.StatusAccepted
				h.Set("Retry-After", strconv.FormatInt(fault.WholeSeconds(answer.Later), 10))
			}
			c.JSON(given, answer.Output)
			return
		}
		h["Content-Type"] = jsonTypeValue
		c.Writer.WriteHeader(status)
		_, _ = c.Writer.Write(answer.JSON) // an error means that the client has left
	}
}

// document is an output that is a file instead of JSON.
type document interface {
	Document() (name, media, text string)
}

var noStoreValue = []string{"no-store"}

// caller describes the sender of the request.
func (s *server) caller(c *gin.Context) *operation.Caller {
	network := clientNetwork(c.Request, s.TrustedProxies)
	return &operation.Caller{
		Door: operation.DoorAPI, RequestID: requestID(c), Network: network, Bearer: bearer(c.Request),
		UnreadKey: func() bool { return unreadKey(c.Request) },
		Browser:   c.Request.UserAgent(),
		Country:   func() string { return s.Locator.Country(c.Request.Header, network) },
	}
}

// arguments collects the arguments from the path and from the query of a GET, or the body of any
// other method.
func arguments(c *gin.Context, op operation.Definition) (map[string]any, *fault.Error) {
	args := map[string]any{}
	if c.Request.Method == http.MethodGet {
		if refusal := queryArguments(c, op.Input(), args); refusal != nil {
			return nil, refusal
		}
	} else if refusal := bodyArguments(c, cmp.Or(op.Meta().MaxBody, maxArguments), args); refusal != nil {
		return nil, refusal
	}
	if refusal := pathArguments(c, op.Input(), args); refusal != nil {
		return nil, refusal
	}
	return args, nil
}

// bodyArguments reads a JSON object from the body into args. The body may be empty.
func bodyArguments(c *gin.Context, limit int64, args map[string]any) *fault.Error {
	body, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, limit))
	if err != nil {
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			return fault.New(fault.BodyTooLarge,
				"The body is larger than %d bytes, which this operation does not need. Send the fields that it takes.",
				limit)
		}
		return fault.New(fault.NotJSON, "The body could not be read. Send it again.").Wrap(err)
	}
	if len(body) == 0 {
		return nil
	}
	if kind, _, err := mime.ParseMediaType(c.GetHeader("Content-Type")); err == nil && kind != "application/json" &&
		kind != "text/plain" {
		return fault.New(fault.FieldRefused,
			"The body's Content-Type is %.80q; this operation takes application/json.", kind)
	}
	if !utf8.Valid(body) { // json.Unmarshal would replace invalid bytes silently
		return fault.New(fault.NotJSON,
			"The body is not UTF-8, in which JSON is written. Encode it so and send it again.")
	}
	if err := json.Unmarshal(body, &args); err != nil || args == nil {
		if _, wrong := errors.AsType[*json.UnmarshalTypeError](err); wrong || err == nil {
			return fault.New(fault.FieldRefused,
				"The body is JSON, but no object. Send the fields as one object, {\"name\": value}.")
		}
		return fault.New(fault.NotJSON, "The body is not JSON. Send the fields as one JSON object.")
	}
	return nil
}

// typed converts a text of the path or the query to the type in the schema. A text that does not
// convert is returned as it is, and the schema refuses it.
func typed(s *huma.Schema, name, text string) any {
	p := s.Properties[name]
	if p == nil {
		return text
	}
	switch p.Type {
	case huma.TypeInteger, huma.TypeNumber:
		if n, err := strconv.ParseFloat(text, 64); err == nil {
			return n
		}
	case huma.TypeBoolean:
		if b, err := strconv.ParseBool(text); err == nil {
			return b
		}
	case huma.TypeArray:
		var list []any
		for item := range strings.SplitSeq(text, ",") {
			list = append(list, strings.TrimSpace(item))
		}
		return list
	}
	return text
}
