package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// maxJoinedFacts bounds the conditions of tests that join three facts or more: a failure of such a
// condition does not say which fact is wrong. Some facts cannot be asserted alone, for example
// where a goroutine cannot end the test. The bound may only be lowered.
const maxJoinedFacts = 36

func TestConditions_OfTestsHoldOneFact(t *testing.T) {
	t.Parallel()
	joined := countInTests(t, joinedFacts)
	if joined > maxJoinedFacts {
		t.Errorf("%d conditions of tests join three facts or more, want at most %d: use the assertions of "+
			"internal/testkit/expect", joined, maxJoinedFacts)
	}
}

// countInTests logs and counts the places that find returns for the files with tests.
func countInTests(t *testing.T, find func(file, source string) ([]token.Position, error)) int {
	t.Helper()
	count := 0
	for folder, names := range sourceFiles(t) {
		for _, name := range names {
			if !strings.HasSuffix(name, "_test.go") {
				continue
			}
			file := filepath.Join(folder, name)
			found, err := find(file, read(t, file))
			if err != nil {
				t.Fatal(err)
			}
			count += len(found)
			for _, at := range found {
				t.Log(at)
			}
		}
	}
	return count
}

// joinedFacts returns the places of if statements that join three facts or more, and report a
// failure.
func joinedFacts(file, source string) ([]token.Position, error) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var found []token.Position
	ast.Inspect(parsed, func(n ast.Node) bool {
		if s, ok := n.(*ast.IfStmt); ok && alternatives(s.Cond) > 2 && fails(s.Body) {
			found = append(found, files.Position(s.Pos()))
		}
		return true
	})
	return found, nil
}

// alternatives counts what a condition joins by ||.
func alternatives(condition ast.Expr) int {
	n := 1
	ast.Inspect(condition, func(m ast.Node) bool {
		if b, ok := m.(*ast.BinaryExpr); ok && b.Op == token.LOR {
			n++
		}
		_, function := m.(*ast.FuncLit)
		return !function
	})
	return n
}

// fails reports whether a block reports that a test failed.
func fails(block *ast.BlockStmt) bool {
	found := false
	ast.Inspect(block, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			switch s.Sel.Name {
			case "Error", "Errorf", "Fatal", "Fatalf":
				found = true
			}
		}
		return true
	})
	return found
}

func TestConditions_OfSeveralFactsAreFound(t *testing.T) {
	t.Parallel()
	const test = "package p\nfunc f() {\n\tfor {\n\t\tif CONDITION {\n\t\t\tBODY\n\t\t}\n\t}\n}\n"
	for condition, want := range map[string]int{
		"a || b || c": 1, "a && (b || c || d)": 1, "!(a || b || c)": 1, "a || b": 0, "a && b && c": 0,
	} {
		t.Run(condition, func(t *testing.T) {
			for body, told := range map[string]bool{
				`t.Error("x")`: true, `t.Fatalf("%d", a)`: true,
				"continue": false,
			} {
				source := strings.NewReplacer("CONDITION", condition, "BODY", body).Replace(test)
				found, err := joinedFacts("p_test.go", source)
				if err != nil {
					t.Fatal(err)
				}
				if told && len(found) != want || !told && len(found) != 0 {
					t.Errorf("%s with %s: found %v, want %d", condition, body, found, want)
				}
			}
		})
	}
}
