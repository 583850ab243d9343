package api

import (
	"net/url"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"

	"github.com/chainaccess/gateway/internal/fault"
)

// unreadable is the message for a query that is not properly encoded.
const unreadable = "The query cannot be read. Percent-encode its values: % is written %25 there, ; is %3B, & is %26, " +
	"+ is %2B."

// queryArguments parses the query. It refuses a query that it cannot parse, because skipping a part
// would change the request.
func queryArguments(c *gin.Context, s *huma.Schema, args map[string]any) *fault.Error {
	query, err := url.ParseQuery(c.Request.URL.RawQuery)
	if err != nil {
		return fault.New(fault.FieldRefused, "%s", unreadable).Wrap(err)
	}
	for name, values := range query {
		if len(values) > 1 {
			return fault.New(fault.FieldRefused, "The query names %.40q %d times. Give it once.", name, len(values))
		}
		if !utf8.ValidString(name) || !utf8.ValidString(values[0]) {
			return notText(name)
		}
		args[name] = typed(s, name, values[0])
	}
	return nil
}

// pathArguments reads the parameters of the path.
func pathArguments(c *gin.Context, s *huma.Schema, args map[string]any) *fault.Error {
	for _, p := range c.Params {
		if !utf8.ValidString(p.Value) {
			return notText(p.Key)
		}
		args[p.Key] = typed(s, p.Key, p.Value)
	}
	return nil
}

// notText refuses bytes that are not UTF-8, because encoding them as JSON would change them.
func notText(name string) *fault.Error {
	return fault.New(fault.FieldRefused, "%.40q is not UTF-8. Percent-encode the text as UTF-8.", name)
}
