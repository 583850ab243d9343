package dashboard

import "net/http"

// home is the first page: what this is, and a key for whoever has a terminal.
func (v *visit) home() error {
	return v.show(http.StatusOK, homePage{
		NewKey:    copyable{ID: "new-key-command", What: "the command for a key", Text: "curl -X POST " + v.PublicURL + "/keys"},
		FirstCall: firstCall(v.PublicURL),
	})
}

// firstCall is a call that works as it stands with a key put in.
func firstCall(publicURL string) copyable {
	return copyable{
		ID: "first-call-command", What: "the command for a first call",
		Text: "curl " + publicURL + "/rpc/eth_mainnet \\\n" +
			"  -H 'Authorization: Bearer " + keyPlaceholder + "' \\\n" +
			"  -H 'Content-Type: application/json' \\\n" +
			`  -d '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}'`,
	}
}
