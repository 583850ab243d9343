package fault

import (
	"bytes"
	"encoding/json"
	"maps"
	"time"
)

// Object renders the error member of the envelope (docs/interface.md, 1.2): code, message and data.
// The data of every refusal has the request id and the address for support.
func (e *Error) Object(requestID string) []byte {
	data := make(map[string]any, len(e.Data)+3)
	maps.Copy(data, e.Data)
	data["request_id"] = requestID
	data["support"] = "/support/new?request_id=" + requestID
	if e.RetryAfter > 0 {
		data["retry_after"] = WholeSeconds(e.RetryAfter)
	}
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false) // people and models read it; it is never inserted into HTML unescaped
	err := encoder.Encode(struct {
		Code    int            `json:"code"`
		Message string         `json:"message"`
		Data    map[string]any `json:"data"`
	}{e.Code(), e.Message, data})
	if err != nil { // a refusal's data are strings and numbers
		panic(err)
	}
	return bytes.TrimSuffix(body.Bytes(), []byte("\n"))
}

// WholeSeconds rounds up to whole seconds, at least one, so that waiting that long is enough.
func WholeSeconds(d time.Duration) int64 { return int64(max(1, (d+time.Second-1)/time.Second)) }
