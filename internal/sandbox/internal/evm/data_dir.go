package evm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	gethlog "github.com/ethereum/go-ethereum/log"
	"github.com/ethereum/go-ethereum/node"
)

// layout changes when a newer sandbox cannot continue an older chain, because its genesis or
// history differs.
const layout = 2

// marker is written once the history is complete. A directory without it belongs to an interrupted
// start.
type marker struct {
	Layout      int    `json:"layout"`
	GenesisTime uint64 `json:"genesis_time"`
}

func markerPath(dir string) string { return filepath.Join(dir, "sandbox.json") }

// readMarker returns the genesis time of a chain that can be resumed.
func readMarker(dir string) (genesisTime uint64, ok bool) {
	raw, err := os.ReadFile(markerPath(dir))
	if err != nil {
		return 0, false
	}
	var m marker
	if err := json.Unmarshal(raw, &m); err != nil || m.Layout != layout || m.GenesisTime == 0 {
		return 0, false
	}
	return m.GenesisTime, true
}

func writeMarker(dir string, genesisTime uint64) error {
	raw, err := json.Marshal(marker{Layout: layout, GenesisTime: genesisTime})
	if err != nil {
		return fmt.Errorf("encode sandbox marker: %w", err)
	}
	if err := os.WriteFile(markerPath(dir), raw, 0o600); err != nil {
		return fmt.Errorf("write sandbox marker: %w", err)
	}
	return nil
}

// clearDir empties the chain's own directory, unless another process holds its lock.
func clearDir(dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	lock, err := node.New(&node.Config{
		Name: "geth", DataDir: dir, KeyStoreDir: os.TempDir(), Logger: gethlog.NewLogger(gethlog.DiscardHandler()),
	})
	if err != nil {
		return fmt.Errorf("lock %s: %w", dir, err)
	}
	if err := lock.Close(); err != nil {
		return fmt.Errorf("unlock %s: %w", dir, err)
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("empty %s: %w", dir, err)
	}
	return nil
}
