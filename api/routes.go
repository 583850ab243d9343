package api

import (
	"net/http"
	"reflect"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/chainaccess/gateway/api/internal/openapi"
)

// plainRoute is a route that is not an operation, with its description for the OpenAPI document.
type plainRoute struct {
	openapi.Plain

	handle gin.HandlerFunc
}

// plainRoutes returns the routes that need no key, except the relay's own.
func (s *server) plainRoutes() []plainRoute {
	return append(append(s.documents.routes(s.noRoute), s.menuPreflights()...), s.webhookRoute(),
		plainRoute{openapi.Plain{
			Method: http.MethodGet, Path: "/docs/methods", Name: "list_methods", Title: "The methods of each chain",
			Description: "Lists the methods that each chain of this gateway serves, with their units, their cache " +
				"rule and whether they submit. A method that is not listed answers -32601.",
			Answers: jsonAnswer[methodCatalog]("The catalog."),
		}, s.methods},
		plainRoute{openapi.Plain{
			Method: http.MethodGet, Path: "/healthz", Name: "health", Title: "Whether this process lives",
			Description: "Answers as long as the process does. It asks nobody else.",
			Answers:     jsonAnswer[health]("It lives."),
		}, s.healthz},
		plainRoute{openapi.Plain{
			Method: http.MethodGet, Path: "/readyz", Name: "readiness", Title: "Whether this process can serve calls",
			Description: "Says whether the meter and the record answer, the chains' heads are known, and the process " +
				"is not about to stop.",
			Answers: map[int]openapi.Answer{
				http.StatusOK: {
					Description: "It can.", Media: mediaJSON, Type: reflect.TypeFor[readiness](),
				},
				http.StatusServiceUnavailable: {
					Description: "It cannot; the checks say why.", Media: mediaJSON, Type: reflect.TypeFor[readiness](),
				},
			},
		}, s.readyz},
	)
}

func jsonAnswer[T any](description string) map[int]openapi.Answer {
	return map[int]openapi.Answer{
		http.StatusOK: {Description: description, Media: mediaJSON, Type: reflect.TypeFor[T]()},
	}
}

// routePlain registers routes. Every GET route also answers HEAD.
func routePlain(engine *gin.Engine, routes []plainRoute) {
	ginForm := strings.NewReplacer("{", ":", "}", "")
	for _, r := range routes {
		path := ginForm.Replace(r.Path)
		engine.Handle(r.Method, path, r.handle)
		if r.Method == http.MethodGet {
			engine.HEAD(path, r.handle)
		}
	}
}
