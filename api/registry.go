package api

import (
	"encoding/json"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/chainaccess/gateway/api/internal/openapi"
	"github.com/chainaccess/gateway/service"
)

// registrySchema is the schema of server.json (github.com/modelcontextprotocol/registry, version
// 2025-12-11).
const registrySchema = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"

// published is the gateway's entry for MCP registries, as /server.json returns it.
type published struct {
	Schema      string            `json:"$schema" doc:"the schema that this follows"`
	Name        string            `json:"name" doc:"the server's name under its host, read backwards: what a registry lists it by"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Version     string            `json:"version" doc:"of the tools; the server itself reports the same"`
	WebsiteURL  string            `json:"websiteUrl" doc:"how to add the server to an agent"`
	Remotes     []publishedRemote `json:"remotes" doc:"where it is reached"`
}

type publishedRemote struct {
	Type    string            `json:"type" enum:"streamable-http"`
	URL     string            `json:"url"`
	Headers []publishedHeader `json:"headers"`
}

// publishedHeader is a header that a client asks its user for.
type publishedHeader struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	IsRequired  bool   `json:"isRequired"`
	IsSecret    bool   `json:"isSecret"`
	Placeholder string `json:"placeholder"`
}

// publishedDescription must fit the 100 characters that the schema allows.
const publishedDescription = "JSON-RPC, balances, prices and names on six chains; agents get their own key, no " +
	"sign-up needed."

func serverJSON(publicURL string) ([]byte, error) {
	return json.MarshalIndent(published{
		Schema: registrySchema, Name: serverName(publicURL), Title: openapi.ServiceName,
		Description: publishedDescription, Version: service.InterfaceVersion, WebsiteURL: publicURL + agentsPath,
		Remotes: []publishedRemote{{
			Type: "streamable-http", URL: publicURL + agentsPrefix,
			Headers: []publishedHeader{{
				Name: "Authorization", IsSecret: true, Placeholder: "Bearer cag_…",
				Description: "Bearer and an API key. Without it the key-free tools work, get_key among them, which " +
					"makes one.",
			}},
		}},
	}, "", "  ")
}

const (
	agentsPath = "/docs/agents"
	serverPath = "/server.json"
	// serverLabel is the part of the server's name that its owner chooses.
	serverLabel = "chain-access-gateway"
	// unnamed replaces hosts that cannot be reversed: addresses, and names that are not valid in
	// DNS.
	unnamed = "localhost"
)

var hostName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)

// serverName returns the host of the public URL in reverse DNS order, as registries require: a
// publisher proves that he owns the domain.
func serverName(publicURL string) string {
	space := unnamed
	if u, err := url.Parse(publicURL); err == nil { // checked by the configuration
		host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
		if net.ParseIP(host) == nil && hostName.MatchString(host) {
			labels := strings.Split(host, ".")
			slices.Reverse(labels)
			space = strings.Join(labels, ".")
		}
	}
	return space + "/" + serverLabel
}
