package archtest

import (
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const (
	maxTopLevel = 22 // folders at the root
	maxFiles    = 40 // in a folder, without generated code and data
)

// oversized maps folders that still exceed maxFiles to their present limits. A limit may only be
// lowered.
var oversized = map[string]int{}

// sourceFiles lists the hand-written files of the repository by folder.
func sourceFiles(t *testing.T) map[string][]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "ls-files", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("list the files: %v", err)
	}
	folders := map[string][]string{}
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSuffix(name, "\n")
		folders[path.Dir(name)] = append(folders[path.Dir(name)], path.Base(name))
	}
	return folders
}

func TestFolders_FewAtTheTop(t *testing.T) {
	t.Parallel()
	var top []string
	for folder := range sourceFiles(t) {
		first, _, _ := strings.Cut(folder, "/")
		if first != "." && !strings.HasPrefix(first, ".") && !slices.Contains(top, first) {
			top = append(top, first)
		}
	}
	if len(top) > maxTopLevel {
		slices.Sort(top)
		t.Errorf("%d folders at the top, want at most %d: %v", len(top), maxTopLevel, top)
	}
}

func TestFolders_HoldFewFiles(t *testing.T) {
	t.Parallel()
	for folder, files := range sourceFiles(t) {
		code := slices.DeleteFunc(files, func(name string) bool {
			return !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, ".sql.go")
		})
		limit := max(maxFiles, oversized[folder])
		if len(code) > limit {
			t.Errorf("%s has %d files, want at most %d: give a part of it a package of its own", folder, len(code),
				limit)
		}
		if before, listed := oversized[folder]; listed && len(code) < before {
			t.Errorf("%s has %d files: lower its figure of %d", folder, len(code), before)
		}
	}
}
