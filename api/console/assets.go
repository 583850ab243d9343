package console

import (
	"embed"

	"github.com/chainaccess/gateway/internal/assets"
)

//go:embed assets
var assetFiles embed.FS

// assetsPath begins the paths of the assets.
const assetsPath = "/assets/"

func loadAssets() (*assets.Set, error) { return assets.Load(assetsPath, assetFiles, "assets/*") }
