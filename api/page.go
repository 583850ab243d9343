package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/klauspost/compress/gzip"

	"github.com/chainaccess/gateway/internal/assets"
)

// documentCaching lets clients keep a document for five minutes. After that, an unchanged document
// is answered with 304.
const documentCaching = "public, max-age=300"

// page is a document, rendered once.
type page struct {
	media   string
	policy  string // Content-Security-Policy; empty for what browsers do not render
	tag     string // weak: it covers the plain and the compressed form
	plain   []byte
	zipped  []byte // nil where compression saves nothing
	foreign bool   // whether pages of other origins may read it
	themed  bool   // differs by the reader's theme
}

func newPage(media string, body []byte) *page {
	sum := sha256.Sum256(body)
	return &page{media: media, plain: body, tag: `W/"` + base64.RawURLEncoding.EncodeToString(sum[:tagBytes]) + `"`}
}

const tagBytes = 12

// compress keeps a compressed form where it is smaller.
func (p *page) compress() *page {
	if len(p.plain) < gzipFrom {
		return p
	}
	var small bytes.Buffer
	w := gzip.NewWriter(&small)
	_, _ = w.Write(p.plain) // a bytes.Buffer never fails
	_ = w.Close()
	p.zipped = small.Bytes()
	return p
}

// serve answers GET and HEAD.
func (p *page) serve(c *gin.Context) {
	h := c.Writer.Header()
	h.Set("Cache-Control", documentCaching)
	h.Set("ETag", p.tag)
	h.Set("Vary", "Accept-Encoding")
	if p.themed {
		h.Set("Vary", "Accept-Encoding, Cookie")
	}
	h.Set("X-Content-Type-Options", "nosniff")
	if p.foreign {
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Access-Control-Expose-Headers", "X-Request-Id, ETag")
	}
	if p.policy != "" {
		h.Set("Content-Security-Policy", p.policy)
		h.Set("Referrer-Policy", "same-origin")
		h.Set("X-Frame-Options", "DENY") // for browsers that do not know frame-ancestors
	}
	if p.isKnown(c.Request.Header["If-None-Match"]) {
		c.Status(http.StatusNotModified)
		return
	}
	body := p.plain
	if p.zipped != nil && assets.AcceptsGzip(c.Request.Header) {
		h.Set("Content-Encoding", "gzip")
		body = p.zipped
	}
	h.Set("Content-Type", p.media)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	c.Status(http.StatusOK)
	c.Writer.WriteHeaderNow()
	if c.Request.Method != http.MethodHead {
		_, _ = c.Writer.Write(body) // an error means that the client has left
	}
}

// isKnown reports whether the client has this version of the page (RFC 9110, section 13.1.2).
func (p *page) isKnown(tags []string) bool {
	for _, line := range tags {
		for tag := range strings.SplitSeq(line, ",") {
			tag = strings.TrimSpace(tag)
			if tag == "*" || strings.TrimPrefix(tag, "W/") == strings.TrimPrefix(p.tag, "W/") {
				return true
			}
		}
	}
	return false
}
