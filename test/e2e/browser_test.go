//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

// screenshots is the folder for screenshots: each page in light and dark, on a desktop and on a
// phone.
const screenshots = "../../.cache/screenshots"

// TestPages_WorkInABrowser uses the console in Debian's Chromium: by mouse, by keyboard, and
// without JavaScript. The scripts run sequentially, because a browser and a gateway keep a small
// machine busy.
func TestPages_WorkInABrowser(t *testing.T) {
	t.Parallel()
	install(t)
	kept, err := filepath.Abs(screenshots)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(kept); err != nil {
		t.Fatal(err)
	}
	env := append(gateway(t), "SCREENSHOTS="+kept)
	scripts, err := filepath.Glob("browser/*.test.js")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	run(t, env, "node", append([]string{"--test", "--test-concurrency=1"}, scripts...)...)
	shots, err := filepath.Glob(filepath.Join(kept, "*-dark-390.png"))
	if err != nil || len(shots) < len(scripts) {
		t.Errorf("only %d pages were looked at: %v", len(shots), err)
	}
}
