package pages

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// AgentTool is a tool of the MCP server, for guides.
type AgentTool struct {
	Name    string
	Title   string
	Purpose string // one sentence: what it returns
	KeyFree bool   // whether it works without a key
}

// serverLabel is the server's name in configurations. keyVariable is the environment variable that
// holds the key.
const (
	serverLabel = "chain-access-gateway"
	keyVariable = "CHAIN_ACCESS_KEY"
	keyInPlace  = "Bearer YOUR_KEY"
)

// Snippet is a text to copy: a command or the content of a file.
type Snippet struct {
	ID   string
	What string // for screen readers and for the button's label
	Text string
}

// agentProgram is a program that runs agents, with its configuration for this server without and
// with a key. The formats are those that the programs documented in November 2026.
type agentProgram struct {
	Name  string
	Where string // the command, the file or the place in the program's settings
	Free  Snippet
	Keyed Snippet
	Notes []string
}

// jsonConfig returns a JSON configuration file with one server, with its members in the given
// order.
func jsonConfig(list string, members ...member) string {
	return object(member{list, object(member{serverLabel, object(members...)})}).indent()
}

type member struct {
	name  string
	value any
}

// object returns a JSON object with its members in the given order.
func object(members ...member) orderedJSON {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, m := range members {
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, "%s:%s", encode(m.name), encode(m.value))
	}
	out.WriteByte('}')
	return out.Bytes()
}

type orderedJSON json.RawMessage

// MarshalJSON implements json.Marshaler.
func (o orderedJSON) MarshalJSON() ([]byte, error) { return o, nil }

func (o orderedJSON) indent() string {
	var out bytes.Buffer
	_ = json.Indent(&out, o, "", "  ") // valid JSON from object
	return out.String()
}

func encode(v any) string {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // only strings, lists and objects
	return strings.TrimSpace(out.String())
}

// bearer returns the member with which configurations send a key.
func bearer(value string) member { return member{"headers", object(member{"Authorization", value})} }

// fromEnvironment returns a bearer whose key the program reads from its environment, in the
// program's own syntax.
func fromEnvironment(form string) member { return bearer("Bearer " + fmt.Sprintf(form, keyVariable)) }

// agentPrograms lists the programs, configured for a server address.
func agentPrograms(address string) []agentProgram {
	programs := []agentProgram{
		claudeCode(address), claudeDesktop(address), cursor(address), vsCode(address), windsurf(address),
		codex(address), gemini(address), cline(address), zed(address), goose(address),
	}
	for i := range programs {
		p := &programs[i]
		id := strings.ToLower(strings.ReplaceAll(p.Name, " ", "-"))
		p.Free.ID, p.Free.What = id, p.Name+" without a key"
		p.Keyed.ID, p.Keyed.What = id+"-key", p.Name+" with a key"
	}
	return programs
}

// ID returns the id of the program's section on the page.
func (p agentProgram) ID() string { return "add-" + p.Free.ID }

func text(format string, args ...any) Snippet { return Snippet{Text: fmt.Sprintf(format, args...)} }

func claudeCode(address string) agentProgram {
	return agentProgram{
		Name: "Claude Code", Where: "In a shell.",
		Free: text("claude mcp add --transport http \\\n  %s %s", serverLabel, address),
		Keyed: text("claude mcp add --transport http \\\n  %s %s \\\n  --header \"Authorization: Bearer $%s\"",
			serverLabel, address, keyVariable),
		Notes: []string{
			"`--scope user` adds it for all your projects, `--scope project` for everyone who works on this one. " +
				"`/mcp` shows whether it is connected.",
		},
	}
}

func claudeDesktop(address string) agentProgram {
	return agentProgram{
		Name: "Claude Desktop",
		Where: "Without a key: Customize, Connectors, Add custom connector, and this address. With a key: " +
			"`claude_desktop_config.json` (Settings, Developer, Edit Config), through `mcp-remote`, which needs " +
			"Node.js.",
		Free: text("%s", address),
		Keyed: Snippet{Text: jsonConfig("mcpServers",
			member{"command", "npx"},
			member{"args", []string{"-y", "mcp-remote", address, "--header", "Authorization:${AUTH_HEADER}"}},
			member{"env", object(member{"AUTH_HEADER", keyInPlace})})},
		Notes: []string{
			"A connector cannot send your header, so it has only the key-free tools. It calls from the internet, " +
				"so the address must be reachable from there.",
		},
	}
}

func cursor(address string) agentProgram {
	return agentProgram{
		Name: "Cursor", Where: "`~/.cursor/mcp.json` for all projects, `.cursor/mcp.json` for one.",
		Free:  Snippet{Text: jsonConfig("mcpServers", member{"url", address})},
		Keyed: Snippet{Text: jsonConfig("mcpServers", member{"url", address}, fromEnvironment("${env:%s}"))},
	}
}

func vsCode(address string) agentProgram {
	server := func(more ...member) member {
		return member{
			"servers", object(member{
				serverLabel, object(append([]member{{"type", "http"}, {"url", address}}, more...)...),
			}),
		}
	}
	ask := object(member{"type", "promptString"}, member{"id", "chain-access-key"},
		member{"description", "API key of the Chain Access Gateway"}, member{"password", true})
	return agentProgram{
		Name: "VS Code", Where: "`.vscode/mcp.json`, or the command MCP: Open User Configuration.",
		Free: Snippet{Text: object(server()).indent()},
		Keyed: Snippet{
			Text: object(member{"inputs", []orderedJSON{ask}},
				server(bearer("Bearer ${input:chain-access-key}"))).indent(),
		},
		Notes: []string{"VS Code asks for the key once and keeps it out of the file."},
	}
}

func windsurf(address string) agentProgram {
	return agentProgram{
		Name: "Windsurf", Where: "`~/.codeium/windsurf/mcp_config.json`.",
		Free:  Snippet{Text: jsonConfig("mcpServers", member{"serverUrl", address})},
		Keyed: Snippet{Text: jsonConfig("mcpServers", member{"serverUrl", address}, fromEnvironment("${env:%s}"))},
	}
}

func codex(address string) agentProgram {
	return agentProgram{
		Name: "Codex CLI", Where: "`~/.codex/config.toml`; `codex mcp add` writes the same.",
		Free:  text("[mcp_servers.%s]\nurl = %q", serverLabel, address),
		Keyed: text("[mcp_servers.%s]\nurl = %q\nbearer_token_env_var = %q", serverLabel, address, keyVariable),
		Notes: []string{"The last line is the variable's name, not the key. Set it in the shell that starts Codex."},
	}
}

func gemini(address string) agentProgram {
	return agentProgram{
		Name: "Gemini CLI", Where: "In a shell.",
		Free: text("gemini mcp add --transport http \\\n  %s %s", serverLabel, address),
		Keyed: text("gemini mcp add --transport http \\\n  --header \"Authorization: Bearer $%s\" \\\n  %s %s",
			keyVariable, serverLabel, address),
		Notes: []string{
			"`--scope user` adds it for all projects. In `settings.json` the address goes under `httpUrl`; `url` " +
				"is for another transport.",
		},
	}
}

func cline(address string) agentProgram {
	members := func(more ...member) []member {
		return append(append([]member{{"type", "streamableHttp"}, {"url", address}}, more...),
			member{"disabled", false}, member{"autoApprove", []string{}})
	}
	return agentProgram{
		Name: "Cline", Where: "`cline_mcp_settings.json`: MCP Servers, Configure, Configure MCP Servers.",
		Free:  Snippet{Text: jsonConfig("mcpServers", members()...)},
		Keyed: Snippet{Text: jsonConfig("mcpServers", members(bearer(keyInPlace))...)},
	}
}

func zed(address string) agentProgram {
	return agentProgram{
		Name: "Zed", Where: "`settings.json`: the command `zed: open settings file`.",
		Free:  Snippet{Text: jsonConfig("context_servers", member{"url", address})},
		Keyed: Snippet{Text: jsonConfig("context_servers", member{"url", address}, bearer(keyInPlace))},
	}
}

func goose(address string) agentProgram {
	const form = "extensions:\n  %s:\n    name: Chain Access Gateway\n    type: streamable_http\n    uri: %s\n    " +
		"enabled: true\n    timeout: 60"
	return agentProgram{
		Name: "Goose", Where: "`~/.config/goose/config.yaml`, or `goose configure`.",
		Free:  text(form, serverLabel, address),
		Keyed: text(form+"\n    headers:\n      Authorization: %s", serverLabel, address, keyInPlace),
	}
}

// anyClient returns snippets for programs that are not listed and for manual checks.
func anyClient(address string) []Snippet {
	return []Snippet{
		{"list-tools", "list the tools", fmt.Sprintf("curl %s \\\n  -H 'Content-Type: application/json' \\\n  -d '%s'",
			address, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)},
		{
			"call-tool", "call a tool",
			fmt.Sprintf(
				"curl %s \\\n  -H \"Authorization: Bearer $%s\" -H 'Content-Type: application/json' \\\n  -d '%s'",
				address, keyVariable,
				`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"rpc_call",`+
					`"arguments":{"chain":"eth_mainnet","method":"eth_blockNumber"}}}`),
		},
	}
}

// fromTypeScript returns a program that connects with the official SDK, as e2e/mcp does.
func fromTypeScript(address string) Snippet {
	return Snippet{
		"typescript", "TypeScript",
		fmt.Sprintf(`import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const client = new Client({ name: 'my-agent', version: '1.0.0' });
await client.connect(new StreamableHTTPClientTransport(new URL('%s'), {
  requestInit: { headers: { Authorization: %s } },
}));
const answer = await client.callTool({
  name: 'rpc_call', arguments: { chain: 'eth_mainnet', method: 'eth_blockNumber' },
});
console.log(answer.isError, answer.content);`, address, "`Bearer ${process.env."+keyVariable+"}`"),
	}
}
