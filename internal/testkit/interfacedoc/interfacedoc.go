// Package interfacedoc reads docs/interface.md, so that tests compare its figures with the code's
// instead of a copy.
package interfacedoc

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var heading = regexp.MustCompile(`(?m)^#{2,3} (\d+\.\d+(?:\.\d+)?) (.+)$`)

// Section is a numbered section without those below it.
type Section struct {
	Number, Title, Text string
}

// Sections returns the numbered sections by number.
func Sections(t testing.TB) map[string]Section {
	t.Helper()
	text := read(t)
	found := heading.FindAllStringSubmatchIndex(text, -1)
	all := map[string]Section{}
	for i, at := range found {
		end := len(text)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		s := Section{Number: text[at[2]:at[3]], Title: text[at[4]:at[5]], Text: text[at[1]:end]}
		if _, twice := all[s.Number]; twice {
			t.Errorf("docs/interface.md has two sections %s", s.Number)
		}
		all[s.Number] = s
	}
	return all
}

// Text returns the text of a section.
func Text(t testing.TB, number string) string {
	t.Helper()
	s, ok := Sections(t)[number]
	if !ok {
		t.Fatalf("docs/interface.md has no section %s", number)
	}
	return s.Text
}

// Rows returns the rows of all tables of a section, each cell by the title of its column, without
// backticks.
func Rows(t testing.TB, number string) []map[string]string {
	t.Helper()
	var rows []map[string]string
	var titles []string
	for line := range strings.Lines(Text(t, number)) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			titles = nil
			continue
		}
		cells := strings.Split(strings.Trim(strings.ReplaceAll(line, "`", ""), "|"), "|")
		switch {
		case titles == nil:
			for _, c := range cells {
				titles = append(titles, strings.TrimSpace(c))
			}
		case strings.Trim(cells[0], "-: ") != "":
			row := map[string]string{}
			for i, title := range titles {
				row[title] = strings.TrimSpace(cells[i])
			}
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		t.Fatalf("docs/interface.md has no table in section %s", number)
	}
	return rows
}

// read returns the document, which lies below the folder of go.mod.
func read(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the test's folder")
		}
		dir = filepath.Dir(dir)
	}
	text, err := os.ReadFile(filepath.Join(dir, "docs", "interface.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
