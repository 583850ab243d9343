package console

import (
	"embed"

	"github.com/chainaccess/gateway/internal/assets"
)

//go:embed assets
var assetFiles embed.FS

// assetsPath is where assets are served.
const assetsPath = "/assets/"

func loadAssets() (*assets.Set, error) { return assets.Load(assetsPath, assetFiles, "assets/*") }
