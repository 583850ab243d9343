//go:build !faultpoints

package faultpoint_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// In production builds this package imports nothing, so it reads no environment and kills nothing.
// Its only function is empty, so the compiler inlines it away.
func TestFaultPoints_AreAbsentInProduction(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", `{{join .GoFiles " "}}`, ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	files := strings.Fields(string(out))
	functions := 0
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(file.Imports) != 0 {
			t.Errorf("%s imports %s", name, file.Imports[0].Path.Value)
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				functions++
				if len(d.Body.List) != 0 {
					t.Errorf("%s: %s does something", name, d.Name)
				}
			case *ast.GenDecl:
				if d.Tok == token.VAR {
					t.Errorf("%s has a variable", name)
				}
			}
		}
	}
	if functions != 1 {
		t.Errorf("%d functions in %v, want Hit alone", functions, files)
	}
}

// Only the harness in test/chaos builds with the tag.
func TestFaultPoints_AreNotBuiltIntoWhatShips(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Makefile", "Dockerfile", "docker-compose.yml", ".ci/run", "scripts/bootstrap"} {
		text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "faultpoints") {
			t.Errorf("%s speaks of the build tag faultpoints", name)
		}
	}
}
