package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/chainaccess/gateway/api/internal/openapi"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/service/operation"
)

// Agents serves the agents' routes: the endpoint of the Model Context Protocol, and the paths of
// its retired HTTP+SSE transport, which are refused.
type Agents interface {
	// Serve answers r. It calls note for refusals that no call record covers.
	Serve(w http.ResponseWriter, r *http.Request, caller *operation.Caller, note func(*fault.Error))
}

// unhurried writes long answers in pieces, as the relay does. An answer may take long, as long as
// the client accepts each piece in time.
type unhurried struct {
	gin.ResponseWriter

	client *client
}

func (u unhurried) Write(p []byte) (int, error) {
	if len(p) > pieceBytes {
		return u.client.Write(p)
	}
	return u.ResponseWriter.Write(p) //nolint:wrapcheck // it replaces the embedded writer
}

// agentsPrefix begins the paths of the agents' routes.
const agentsPrefix = "/mcp"

// routeAgents passes every method except OPTIONS to Agents, because every answer there has the
// protocol's own form.
func (s *server) routeAgents(engine *gin.Engine) {
	if s.Agents == nil {
		return
	}
	handle := func(c *gin.Context) {
		caller := s.caller(c)
		caller.Door = operation.DoorMCP
		s.Agents.Serve(unhurried{c.Writer, s.client(c)}, c.Request, caller, func(f *fault.Error) { s.noteFault(c, f) })
	}
	for _, path := range []string{agentsPrefix, agentsPrefix + "/sse", agentsPrefix + "/messages"} {
		for _, method := range []string{
			http.MethodPost, http.MethodGet, http.MethodHead, http.MethodDelete, http.MethodPut, http.MethodPatch,
		} {
			engine.Handle(method, path, handle)
		}
		engine.OPTIONS(path, s.preflight)
	}
}

// agentsRoute describes the endpoint for the OpenAPI document. It returns nil when Agents is nil.
func (s *server) agentsRoute() []plainRoute {
	if s.Agents == nil {
		return nil
	}
	return []plainRoute{{Plain: openapi.Plain{
		Method: http.MethodPost, Path: agentsPrefix, Name: "mcp",
		Title: "Tools for agents, by the Model Context Protocol",
		Description: "Takes one message of the Model Context Protocol (Streamable HTTP, versions up to 2025-11-25) " +
			"and answers it with one JSON document; no session is kept. initialize, ping and tools/list need no key; " +
			"tools/list describes the tools. A refused tool call is a result with isError, whose text is the error " +
			"object of this document. Whatever Accept says, the answer is JSON.",
		Body: "A message of JSON-RPC 2.0: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}",
		Answers: map[int]openapi.Answer{
			http.StatusOK: {
				Description: "The answer to the message: its result, or the protocol's error.", Media: mediaJSON,
			},
			http.StatusAccepted: {Description: "A notification, which has no answer."},
		},
		Fails: []fault.Reason{
			fault.NotJSON, fault.NotARequest, fault.BodyTooLarge, fault.MediaTypeRefused,
			fault.HostRefused, fault.RateWindow,
		}, Messages: true,
	}}}
}
