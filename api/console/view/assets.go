package view

import (
	"embed"
	"sync"

	"github.com/chainaccess/gateway/internal/assets"
)

//go:embed assets
var assetFiles embed.FS

// AssetsPath begins the paths of the assets.
const AssetsPath = "/assets/"

// Assets reads the assets of the pages.
var Assets = sync.OnceValues(func() (*assets.Set, error) {
	return assets.Load(AssetsPath, assetFiles, "assets/*")
})
