// Package assets serves the static files of pages: under names that contain a fingerprint of their
// content, compressed, and cacheable for a year. The files themselves belong to the packages that
// render the pages.
package assets

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
)

const (
	fingerprintChars = 12
	// caching allows a year, the longest max-age in common use.
	caching = "public, max-age=31536000, immutable"
	// leastGzip is the size in bytes from which compression pays.
	leastGzip = 512
)

// mediaTypes are fixed because the tables of the operating system differ between machines.
var mediaTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

// File is one file as it is served.
type File struct {
	File   string // its name in templates
	Name   string // its name in URLs, with the fingerprint
	Media  string
	Plain  []byte
	Zipped []byte // nil where compression does not pay
}

// Set is a group of files with a common base path. It never changes after Load.
type Set struct {
	base  string
	files []*File
}

// Load reads the files that match the patterns (path.Match). They are served below base, which ends
// with a slash. A file that is stored compressed, such as x.js.gz, is served as x.js.
func Load(base string, from fs.FS, patterns ...string) (*Set, error) {
	s := &Set{base: base}
	for _, pattern := range patterns {
		names, err := fs.Glob(from, pattern)
		if err != nil {
			return nil, fmt.Errorf("list assets %s: %w", pattern, err)
		}
		for _, name := range names {
			content, err := fs.ReadFile(from, name)
			if err != nil {
				return nil, fmt.Errorf("read asset %s: %w", name, err)
			}
			f, err := newFile(path.Base(name), content)
			if err != nil {
				return nil, fmt.Errorf("asset %s: %w", name, err)
			}
			s.files = append(s.files, f)
		}
	}
	return s, nil
}

func newFile(name string, content []byte) (f *File, err error) {
	f = &File{File: name, Plain: content}
	if plain, kept := strings.CutSuffix(name, ".gz"); kept {
		f.File, f.Zipped = plain, content
		f.Plain, err = unzip(content)
	} else if len(content) >= leastGzip {
		f.Zipped, err = zip(content)
	}
	if err != nil {
		return nil, err
	}
	extension := path.Ext(f.File)
	if f.Media = mediaTypes[extension]; f.Media == "" {
		return nil, fmt.Errorf("no content type is known for %q", extension)
	}
	sum := sha256.Sum256(f.Plain)
	f.Name = strings.TrimSuffix(f.File, extension) + "." + hex.EncodeToString(sum[:])[:fingerprintChars] + extension
	return f, nil
}

func zip(content []byte) ([]byte, error) {
	var small bytes.Buffer
	w, err := gzip.NewWriterLevel(&small, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(content)
	}
	if err == nil {
		err = w.Close()
	}
	return small.Bytes(), err
}

func unzip(content []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r) //nolint:gosec // a file that is embedded in the program
}

// Files returns a copy of the list of files.
func (s *Set) Files() []*File { return slices.Clone(s.files) }

// Path returns the URL path of a file. It fails for an unknown file, so that rendering the template
// fails.
func (s *Set) Path(file string) (string, error) {
	for _, f := range s.files {
		if f.File == file {
			return s.base + f.Name, nil
		}
	}
	return "", fmt.Errorf("there is no asset %q", file)
}

// Serve answers GET and HEAD for a file by its fingerprinted name. It reports whether there is such
// a file; the fingerprint of another version is unknown. Its page, once reloaded, names the present
// one.
func (s *Set) Serve(w http.ResponseWriter, r *http.Request, name string) bool {
	at := slices.IndexFunc(s.files, func(f *File) bool { return f.Name == name })
	if at < 0 {
		return false
	}
	f, h := s.files[at], w.Header()
	h.Set("Content-Type", f.Media)
	h.Set("Cache-Control", caching)
	h.Set("X-Content-Type-Options", "nosniff")
	body := f.Plain
	if f.Zipped != nil {
		h.Set("Vary", "Accept-Encoding")
		if AcceptsGzip(r.Header) {
			h.Set("Content-Encoding", "gzip")
			body = f.Zipped
		}
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the client may have disconnected
	}
	return true
}
