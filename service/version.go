package service

// InterfaceVersion is the semantic version of the interface for agents (docs/interface.md, 2.9).
// The MCP server and /server.json report it. It changes with the tools, not with the HTTP
// interface.
const InterfaceVersion = "1.4.0"
