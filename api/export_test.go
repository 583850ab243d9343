package api

// ServerJSON is what /server.json gives at a public URL.
var ServerJSON = serverJSON
