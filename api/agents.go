package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/chainaccess/gateway/api/internal/openapi"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/service"
)

// Agents is the agents' door behind this one: the endpoint of the Model Context Protocol, and the
// closed paths of the one before it.
type Agents interface {
	// note is told of refusals that no call tells of.
	Serve(w http.ResponseWriter, r *http.Request, caller *service.Caller, note func(*fault.Error))
}

// unhurried writes long answers piece by piece, as the relay's are written: a client may take long,
// as long as each piece is taken in time.
type unhurried struct {
	gin.ResponseWriter

	client *client
}

func (u unhurried) Write(p []byte) (int, error) {
	if len(p) > pieceBytes {
		return u.client.Write(p)
	}
	return u.ResponseWriter.Write(p) //nolint:wrapcheck // it stands in the other's place
}

// agentsPrefix is where everything of the agents' door is.
const agentsPrefix = "/mcp"

// routeAgents hands over every method but OPTIONS: whatever is asked there is answered in the
// protocol's own form.
func (s *server) routeAgents(engine *gin.Engine) {
	if s.Agents == nil {
		return
	}
	handle := func(c *gin.Context) {
		caller := s.caller(c)
		caller.Door = service.DoorMCP
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

// agentsRoute describes the endpoint in the document, where there is one.
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
