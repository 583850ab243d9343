package pages

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
)

// The viewer comes from npm; e2e/viewer.js takes it from there (make viewer), and viewer.json says which release it is.
//
//go:embed assets viewer/*.gz viewer/viewer.json
var assetFiles embed.FS

// AssetsPath is where assets are served. Their names change with their content, so whoever has one may keep it.
const AssetsPath = "/docs/assets/"

const fingerprintChars = 12

// Asset is a file that pages load.
type Asset struct {
	File   string // as templates name it
	Name   string // with the fingerprint, below AssetsPath
	Media  string
	Plain  []byte
	Zipped []byte // as it is kept; nil for what is kept plain
}

// Path is the address of the asset.
func (a *Asset) Path() string { return AssetsPath + a.Name }

// Assets reads all of them.
func Assets() ([]*Asset, error) {
	own, err := files("assets")
	if err != nil {
		return nil, err
	}
	viewer, err := files("viewer")
	if err != nil {
		return nil, err
	}
	return append(own, viewer...), nil
}

func files(dir string) ([]*Asset, error) {
	entries, err := fs.ReadDir(assetFiles, dir)
	if err != nil {
		return nil, fmt.Errorf("list assets: %w", err)
	}
	var list []*Asset
	for _, e := range entries {
		if e.Name() == manifestFile {
			continue
		}
		content, err := fs.ReadFile(assetFiles, path.Join(dir, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("asset %s: %w", e.Name(), err)
		}
		a, err := newAsset(e.Name(), content)
		if err != nil {
			return nil, fmt.Errorf("asset %s: %w", e.Name(), err)
		}
		list = append(list, a)
	}
	return list, nil
}

func newAsset(file string, content []byte) (*Asset, error) {
	var zipped []byte
	if name, ok := strings.CutSuffix(file, ".gz"); ok {
		zipped = content
		z, err := gzip.NewReader(bytes.NewReader(content))
		if err != nil {
			return nil, err
		}
		if content, err = io.ReadAll(z); err != nil { //nolint:gosec // a file of ours
			return nil, err
		}
		file = name
	}
	media := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}[path.Ext(file)]
	if media == "" {
		return nil, fmt.Errorf("no content type is known for %q", path.Ext(file))
	}
	sum := sha256.Sum256(content)
	name := strings.TrimSuffix(file, path.Ext(file)) + "." + hex.EncodeToString(sum[:])[:fingerprintChars] + path.Ext(file)
	return &Asset{File: file, Name: name, Media: media, Plain: content, Zipped: zipped}, nil
}

const manifestFile = "viewer.json"

// Manifest says which release of the viewer is embedded.
type Manifest struct {
	Package string            `json:"package"`
	Version string            `json:"version"`
	License string            `json:"license"`
	Files   map[string]string `json:"files"` // SHA-256 in hex, uncompressed
}

// Viewer reads the manifest.
func Viewer() (Manifest, error) {
	var m Manifest
	text, err := fs.ReadFile(assetFiles, path.Join("viewer", manifestFile))
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		return m, fmt.Errorf("manifest of the viewer: %w", err)
	}
	return m, nil
}
