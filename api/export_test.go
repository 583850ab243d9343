package api

// ServerJSON returns /server.json for a public URL.
var ServerJSON = serverJSON
