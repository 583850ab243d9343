package pages

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"

	"github.com/chainaccess/gateway/internal/assets"
)

// The viewer is an npm package, which e2e/viewer.js copies (make viewer). viewer.json records its
// release.
//
//go:embed assets viewer/*.gz viewer/viewer.json
var assetFiles embed.FS

// AssetsPath is where assets are served.
const AssetsPath = "/docs/assets/"

// Assets reads all of them.
func Assets() (*assets.Set, error) {
	return assets.Load(AssetsPath, assetFiles, "assets/*", "viewer/*.gz")
}

// viewerKilobytes is what a browser loads of the viewer, compressed.
func viewerKilobytes() (int64, error) {
	const kilobyte = 1000
	files, err := fs.Glob(assetFiles, "viewer/*.gz")
	if err != nil {
		return 0, fmt.Errorf("files of the viewer: %w", err)
	}
	var size int64
	for _, file := range files {
		info, err := fs.Stat(assetFiles, file)
		if err != nil {
			return 0, fmt.Errorf("files of the viewer: %w", err)
		}
		size += info.Size()
	}
	return (size + kilobyte - 1) / kilobyte, nil
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
