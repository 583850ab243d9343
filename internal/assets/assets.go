// Package assets owns how files that pages load go out: under names that change with their content,
// compressed, to be kept for a year. Whose files they are and what the pages look like is their
// doors' business.
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
	// caching is for a year, the longest that caches promise.
	caching = "public, max-age=31536000, immutable"
	// leastGzip is the size from which compression pays.
	leastGzip = 512
)

// mediaTypes are told, not guessed: the machine's own tables differ.
var mediaTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

// File is one of them, as it goes out.
type File struct {
	File   string // as templates name it
	Name   string // with the fingerprint, as it is asked for
	Media  string
	Plain  []byte
	Zipped []byte // nil where it does not pay
}

// Set is the files of a door. It never changes after it is loaded.
type Set struct {
	base  string
	files []*File
}

// Load reads the files that the patterns name (path.Match). They are served below base, which ends
// with a slash. One that is kept compressed, as x.js.gz, is x.js.
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
	return io.ReadAll(r) //nolint:gosec // a file that was built in
}

// Files lists them.
func (s *Set) Files() []*File { return slices.Clone(s.files) }

// Path returns the address of a file; a template that names none fails.
func (s *Set) Path(file string) (string, error) {
	for _, f := range s.files {
		if f.File == file {
			return s.base + f.Name, nil
		}
	}
	return "", fmt.Errorf("there is no asset %q", file)
}

// Serve answers GET and HEAD of a file by its name with the fingerprint. It says whether there is
// one: a fingerprint of another version is not found, and its page, loaded again, names the new
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
		_, _ = w.Write(body) // a client that went away is told nothing
	}
	return true
}
