package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxCommentColumns bounds a line of a comment; a tab has four columns.
const maxCommentColumns = 100

// oddVerbs maps a verb that must not follow a name in its comment to the standard one.
var oddVerbs = map[string]string{
	"gives": "returns", "is whether": "reports whether", "says whether": "reports whether",
	"tells whether": "reports whether",
}

func TestComments_AreShortLinesThatBeginWithStandardVerbs(t *testing.T) {
	t.Parallel()
	files := 0
	for folder, names := range sourceFiles(t) {
		for _, name := range names {
			if path.Ext(name) != ".go" || strings.Contains(folder, "testdata") {
				continue
			}
			files++
			file := filepath.Join(folder, name)
			fset := token.NewFileSet()
			source := read(t, file)
			parsed, err := parser.ParseFile(fset, file, source, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			if ast.IsGenerated(parsed) {
				continue
			}
			for _, wrong := range append(oddComments(parsed), longComments(fset, parsed, source)...) {
				t.Errorf("%s: %s", file, wrong)
			}
		}
	}
	if files < 500 {
		t.Errorf("%d files read", files)
	}
}

func TestOddComments_AreFound(t *testing.T) {
	t.Parallel()
	const source = `package p

// size gives the size.
func size() int { return 0 }

// open is whether it is open.
func open() bool { return false }

// close returns what it gives.
func close() int { return 0 }

// state is whether it is open.
type state struct {
	// shut says whether it is shut.
	shut bool
}
`
	parsed, err := parser.ParseFile(token.NewFileSet(), "p.go", source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	if got := oddComments(parsed); len(got) != 4 {
		t.Errorf("found %q, want those of size, open, state and shut", got)
	}
}

// oddComments lists the comments on functions, types, values and fields of a file that begin with
// one of oddVerbs.
func oddComments(file *ast.File) []string {
	var wrong []string
	look := func(name string, doc *ast.CommentGroup) {
		for odd, standard := range oddVerbs {
			if doc != nil && strings.HasPrefix(doc.List[0].Text, "// "+name+" "+odd+" ") {
				wrong = append(wrong, name+" "+odd+" …: write "+standard+", or the verb that fits")
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			look(n.Name.Name, n.Doc)
		case *ast.GenDecl:
			for _, spec := range n.Specs {
				if s, ok := spec.(*ast.TypeSpec); ok {
					look(s.Name.Name, n.Doc)
					look(s.Name.Name, s.Doc)
				}
			}
		case *ast.ValueSpec:
			look(n.Names[0].Name, n.Doc)
		case *ast.Field:
			if len(n.Names) > 0 {
				look(n.Names[0].Name, n.Doc)
			}
		}
		return true
	})
	return wrong
}

// longComments lists the lines that hold only a comment and exceed maxCommentColumns. Examples and
// directives are exempt.
func longComments(fset *token.FileSet, file *ast.File, source string) []string {
	var long []string
	lines := strings.Split(source, "\n")
	for _, group := range file.Comments {
		for _, c := range group.List {
			line := lines[fset.Position(c.Pos()).Line-1]
			if c.Text != strings.TrimLeft(line, "\t") || strings.HasPrefix(c.Text, "//\t") ||
				strings.HasPrefix(c.Text, "//nolint") {
				continue
			}
			if utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    ")) > maxCommentColumns {
				long = append(long, "too long: "+c.Text)
			}
		}
	}
	return long
}
