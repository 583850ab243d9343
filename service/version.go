package service

// InterfaceVersion is the version of the interface for agents, by semver.org (docs/interface.md,
// 2.9): what the MCP server reports of itself is what /server.json publishes. It changes with the
// tools, and not with the HTTP interface.
const InterfaceVersion = "1.4.0"
