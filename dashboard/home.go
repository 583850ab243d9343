package dashboard

import "net/http"

// homeTool is the one whose form stands on the first page.
const homeTool = "get_gas"

// home is the first page: what this is, a key for whoever has a terminal, and a tool for whoever has none.
func (v *visit) home() error {
	if err := v.bear(); err != nil {
		return err
	}
	return v.show(http.StatusOK, homePage{
		Tool:      v.liveTool(homeTool),
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
