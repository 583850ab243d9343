package archtest

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/internal/testkit/interfacedoc"
)

var (
	// cited matches what follows the document's name: "docs/interface.md, 1.8.4 and 2.3".
	cited    = regexp.MustCompile(`interface\.md,? ((?:\d+(?:\.\d+)+(?:, | and |; )?)+)`)
	section  = regexp.MustCompile(`\d+(?:\.\d+)+`)
	entry    = regexp.MustCompile(`(?m)^ *- \[([^\]]+)\]\(#([^)]+)\)$`)
	anyTitle = regexp.MustCompile(`(?m)^#{2,3} (.+)$`)
	// continued matches a line break within a comment.
	continued = regexp.MustCompile(`\n\s*(?://|--|#)\s*`)
)

func TestInterface_HasTheSectionsThatAreCited(t *testing.T) {
	t.Parallel()
	sections := interfacedoc.Sections(t)
	seen := 0
	for folder, files := range sourceFiles(t) {
		for _, name := range files {
			switch filepath.Ext(name) {
			case ".go", ".lua", ".sql", ".md", ".yml", ".yaml", ".html":
			default:
				continue
			}
			path := filepath.Join(folder, name)
			text := continued.ReplaceAllString(read(t, path), " ")
			for _, citation := range cited.FindAllStringSubmatch(text, -1) {
				for _, number := range section.FindAllString(citation[1], -1) {
					seen++
					if _, ok := sections[number]; !ok {
						t.Errorf("%s cites docs/interface.md, %s, which is not there", path, number)
					}
				}
			}
		}
	}
	if seen < 50 {
		t.Errorf("%d citations found, so most are not recognized", seen)
	}
}

func TestInterface_ListsAllItsSections(t *testing.T) {
	t.Parallel()
	text := read(t, filepath.Join("docs", "interface.md"))
	var listed, titles []string
	for _, e := range entry.FindAllStringSubmatch(text, -1) {
		listed = append(listed, e[1])
		if want := anchor(e[1]); e[2] != want {
			t.Errorf("%q links to #%s, want #%s", e[1], e[2], want)
		}
	}
	for _, title := range anyTitle.FindAllStringSubmatch(text, -1) {
		titles = append(titles, title[1])
	}
	if got, want := strings.Join(listed, "\n"), strings.Join(titles, "\n"); got != want {
		t.Errorf("the contents of docs/interface.md list\n%s\nand the headings are\n%s", got, want)
	}
}

// anchor returns the fragment that GitHub makes of a title.
func anchor(title string) string {
	kept := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', r >= '0' && r <= '9', r >= 'a' && r <= 'z':
			return r
		}
		return -1
	}, strings.ToLower(title))
	return kept
}
