package dashboard

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
)

//go:embed assets
var assetFiles embed.FS

// assetsPath is where assets are served. Their names change with their content, so whoever has one may keep it.
const assetsPath = "/assets/"

const (
	fingerprintChars = 12
	// assetCaching is for a year, the longest that caches promise.
	assetCaching = "public, max-age=31536000, immutable"
	// leastGzip is the size from which compression pays.
	leastGzip = 512
)

// asset is one file, as it goes out.
type asset struct {
	name        string // with the fingerprint
	contentType string
	plain       []byte
	gzipped     []byte // nil where it does not pay
}

// assets are the embedded files by the names under which they are asked for.
type assets struct {
	served map[string]*asset
	names  map[string]string // file name to path
}

// loadAssets reads, fingerprints and compresses what is embedded, once.
func loadAssets() (*assets, error) {
	all := &assets{served: map[string]*asset{}, names: map[string]string{}}
	files, err := fs.ReadDir(assetFiles, "assets")
	if err != nil {
		return nil, fmt.Errorf("list assets: %w", err)
	}
	for _, file := range files {
		content, err := fs.ReadFile(assetFiles, path.Join("assets", file.Name()))
		if err != nil {
			return nil, fmt.Errorf("read asset %s: %w", file.Name(), err)
		}
		a, err := newAsset(file.Name(), content)
		if err != nil {
			return nil, err
		}
		all.served[a.name] = a
		all.names[file.Name()] = assetsPath + a.name
	}
	return all, nil
}

func newAsset(file string, content []byte) (*asset, error) {
	sum := sha256.Sum256(content)
	extension := path.Ext(file)
	kind, ok := contentTypes[extension]
	if !ok {
		return nil, fmt.Errorf("asset %s: no content type is known for %q", file, extension)
	}
	a := &asset{
		name:        strings.TrimSuffix(file, extension) + "." + hex.EncodeToString(sum[:])[:fingerprintChars] + extension,
		contentType: kind, plain: content,
	}
	if len(content) < leastGzip {
		return a, nil
	}
	var small bytes.Buffer
	w, err := gzip.NewWriterLevel(&small, gzip.BestCompression)
	if err != nil {
		return nil, fmt.Errorf("compress asset %s: %w", file, err)
	}
	if _, err := w.Write(content); err != nil {
		return nil, fmt.Errorf("compress asset %s: %w", file, err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("compress asset %s: %w", file, err)
	}
	a.gzipped = small.Bytes()
	return a, nil
}

// contentTypes are told, not guessed: the machine's own tables differ.
var contentTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

// path gives the address of an asset by its file name; a template that names none fails.
func (a *assets) path(file string) (string, error) {
	p, ok := a.names[file]
	if !ok {
		return "", fmt.Errorf("there is no asset %q", file)
	}
	return p, nil
}

// serve answers GET and HEAD of an asset. It says whether there is one.
func (a *assets) serve(w http.ResponseWriter, r *http.Request, name string) bool {
	found, ok := a.served[name]
	if !ok {
		return false
	}
	h := w.Header()
	h.Set("Content-Type", found.contentType)
	h.Set("Cache-Control", assetCaching)
	body := found.plain
	if found.gzipped != nil {
		h.Set("Vary", "Accept-Encoding")
		if acceptsGzip(r.Header.Values("Accept-Encoding")) {
			h.Set("Content-Encoding", "gzip")
			body = found.gzipped
		}
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // a client that went away is told nothing
	}
	return true
}

// acceptsGzip reads Accept-Encoding as far as browsers use it: gzip by name, and not with a quality of zero.
func acceptsGzip(values []string) bool {
	for _, value := range values {
		for part := range strings.SplitSeq(value, ",") {
			coding, parameters, err := mime.ParseMediaType(strings.TrimSpace(part))
			if err != nil || coding != "gzip" {
				continue
			}
			quality, err := strconv.ParseFloat(parameters["q"], 64)
			return err != nil || quality > 0
		}
	}
	return false
}
