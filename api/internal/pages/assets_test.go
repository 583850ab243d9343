package pages_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/api/internal/pages"
	"github.com/chainaccess/gateway/internal/testkit/expect"
)

// The embedded viewer must be the release in the lock file of e2e, as viewer.json recorded it when
// it was copied.
func TestAssets_ViewerIsTheLockedRelease(t *testing.T) {
	t.Parallel()
	m, err := pages.Viewer()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../../test/e2e/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Packages map[string]struct{ Version, License string } `json:"packages"`
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		t.Fatal(err)
	}
	locked := lock.Packages["node_modules/"+m.Package]
	expect.NotEqual(t, m.Version, "")
	expect.Equal(t, locked.Version, m.Version)
	expect.Equal(t, locked.License, m.License)
	assets, err := pages.Assets()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, a := range assets.Files() {
		if want, ok := m.Files[a.File]; ok {
			found++
			if sum := sha256.Sum256(a.Plain); hex.EncodeToString(sum[:]) != want {
				t.Errorf("%s is not what was taken; make viewer takes it anew", a.File)
			}
			if !strings.Contains(a.Name, m.Files[a.File][:12]) || a.Zipped == nil {
				t.Errorf("%s is served as %s", a.File, a.Name)
			}
		}
	}
	if found != len(m.Files) || found == 0 {
		t.Errorf("%d of %d files are there", found, len(m.Files))
	}
	for _, name := range []string{"LICENSE", "NOTICE", "swagger-ui-bundle.js.LICENSE.txt"} {
		if text, err := os.ReadFile("viewer/" + name); err != nil || len(text) == 0 {
			t.Errorf("the viewer comes without its %s: %v", name, err)
		}
	}
}

func TestAssets_LoadNothingAndNameNoSourceMap(t *testing.T) {
	t.Parallel()
	assets, err := pages.Assets()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range assets.Files() {
		if strings.HasSuffix(a.File, ".css") && (strings.Contains(string(a.Plain), "url(http") ||
			strings.Contains(string(a.Plain), "@import")) {
			t.Errorf("%s loads from elsewhere", a.File)
		}
		if strings.Contains(string(a.Plain), "sourceMappingURL=") {
			t.Errorf("%s names a map that is not served", a.File)
		}
	}
}
