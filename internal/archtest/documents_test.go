package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	codePath = regexp.MustCompile("`([a-z0-9_*.-]+(?:/[a-z0-9_*.-]+)+\\.(?:go|lua|sql|md|yml|yaml|js|json|html))`")
	link     = regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
)

// Paths in code spans start at the root or next to the document; links start next to the document.
func TestDocuments_NameFilesThatExist(t *testing.T) {
	t.Parallel()
	top := root(t)
	seen := 0
	for folder, files := range sourceFiles(t) {
		for _, name := range files {
			if !strings.HasSuffix(name, ".md") || strings.Contains(folder, "testdata") ||
				strings.Contains(folder, "templates") {
				continue
			}
			text := read(t, filepath.Join(folder, name))
			for _, found := range codePath.FindAllStringSubmatch(text, -1) {
				seen++
				if !exists(top, found[1]) && !exists(filepath.Join(top, folder), found[1]) {
					t.Errorf("%s names `%s`, which is not there", filepath.Join(folder, name), found[1])
				}
			}
			for _, found := range link.FindAllStringSubmatch(text, -1) {
				seen++
				if !exists(filepath.Join(top, folder), found[1]) {
					t.Errorf("%s links to %s, which is not there", filepath.Join(folder, name), found[1])
				}
			}
		}
	}
	if seen < 100 {
		t.Errorf("%d paths found in all documents", seen)
	}
}

// exists reports whether a path, which may contain asterisks, exists below a folder.
func exists(folder, name string) bool {
	if _, err := os.Stat(filepath.Join(folder, name)); err == nil {
		return true
	}
	found, err := filepath.Glob(filepath.Join(folder, name))
	return err == nil && len(found) > 0
}
