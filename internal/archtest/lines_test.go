package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxCodeColumns bounds a line of code; a tab has four columns. The linter lll holds the same bound
// but passes over lines with a backtick, because it does not know struct tags and raw strings.
const maxCodeColumns = 120

func TestCode_HasShortLines(t *testing.T) {
	t.Parallel()
	for folder, names := range sourceFiles(t) {
		for _, name := range names {
			if path.Ext(name) != ".go" || strings.Contains(folder, "testdata") {
				continue
			}
			file := filepath.Join(folder, name)
			for _, wrong := range longLines(t, file, read(t, file)) {
				t.Error(wrong)
			}
		}
	}
}

func TestLongLines_AreFoundOutsideTagsAndRawStrings(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxCodeColumns)
	source := "package p\n\ntype t struct {\n\tField string `json:\"" + long + "\"`\n}\n\n" +
		"const a = `\n" + long + "\n`\n\n" +
		"const b = `" + long + "`\n\nvar c = []string{`" + long + "`, \"\"}\n\n//nolint:x // " + long + "\nconst d = " +
		"1\n"
	if got := longLines(t, "p.go", source); len(got) != 2 {
		t.Errorf("found %q, want the lines of b and c", got)
	}
}

// longLines lists the lines of code with too many columns. It leaves out comments, which have a
// test of their own, and what cannot be wrapped: struct tags, and raw strings of several lines.
func longLines(t *testing.T, file, source string) (wrong []string) {
	t.Helper()
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if ast.IsGenerated(parsed) {
		return nil
	}
	excused := map[int]bool{}
	excuse := func(from, to token.Pos) {
		for line := fset.Position(from).Line; line <= fset.Position(to).Line; line++ {
			excused[line] = true
		}
	}
	for _, group := range parsed.Comments {
		for _, c := range group.List {
			excuse(c.Pos(), c.End())
		}
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			if n.Tag != nil {
				excuse(n.Tag.Pos(), n.Tag.End())
			}
		case *ast.BasicLit:
			if n.Kind == token.STRING && fset.Position(n.Pos()).Line != fset.Position(n.End()).Line {
				excuse(n.Pos(), n.End())
			}
		}
		return true
	})
	for i, line := range strings.Split(source, "\n") {
		columns := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    "))
		if columns > maxCodeColumns && !excused[i+1] {
			wrong = append(wrong,
				fmt.Sprintf("%s:%d has %d columns, want at most %d", file, i+1, columns, maxCodeColumns))
		}
	}
	return wrong
}
