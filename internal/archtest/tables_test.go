package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// maxNamelessTables bounds the tables of tests whose cases do not run in t.Run: a failure does not
// name the case, and no case can be run alone. The bound may only be lowered.
const maxNamelessTables = 14

func TestTables_RunEachCaseByName(t *testing.T) {
	t.Parallel()
	nameless := countInTests(t, namelessTables)
	if nameless > maxNamelessTables {
		t.Errorf("%d tables of three cases or more do not run them in t.Run, want at most %d: wrap the body "+
			"of the loop in t.Run, or call the variable step where a case follows from the one before",
			nameless, maxNamelessTables)
	}
}

func TestTables_NamelessOnesAreFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		over, body string
		want       int
	}{
		"in t.Run": {
			`for k, v := range map[string]int{"a": 1, "b": 2, "c": 3}`,
			`t.Run(k, func(t *testing.T) { t.Log(v) })`, 0,
		},
		"two cases":       {`for k := range map[string]int{"a": 1, "b": 2}`, `t.Error(k)`, 0},
		"steps":           {`for _, step := range []struct{ a int }{{1}, {2}, {3}}`, `t.Error(step)`, 0},
		"without a test":  {`for k := range map[string]int{"a": 1, "b": 2, "c": 3}`, `println(k)`, 0},
		"a map":           {`for k := range map[string]int{"a": 1, "b": 2, "c": 3}`, `t.Error(k)`, 1},
		"structs":         {`for _, c := range []struct{ a int }{{1}, {2}, {3}}`, `t.Error(c)`, 1},
		"a variable":      {`cases := []struct{ a int }{{1}, {2}, {3}}; for _, c := range cases`, `t.Error(c)`, 1},
		"a list of texts": {`for _, c := range []string{"a", "b", "c"}`, `t.Error(c)`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := namelessTables("x_test.go",
				"package x\nfunc TestX(t *testing.T) { "+c.over+" { "+c.body+" } }")
			if err != nil {
				t.Fatal(err)
			}
			if len(found) != c.want {
				t.Errorf("%d are found, want %d", len(found), c.want)
			}
		})
	}
}

// namelessTables returns the places of loops over tables of three cases or more that use t, but do
// not call t.Run.
func namelessTables(file, source string) ([]token.Position, error) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var found []token.Position
	for _, d := range parsed.Decls {
		test, ok := d.(*ast.FuncDecl)
		if !ok || test.Body == nil || !strings.HasPrefix(test.Name.Name, "Test") {
			continue
		}
		tables := map[string]ast.Expr{}
		ast.Inspect(test.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				if name, ok := n.Lhs[0].(*ast.Ident); ok && len(n.Rhs) == 1 {
					tables[name.Name] = n.Rhs[0]
				}
			case *ast.CallExpr:
				return !isRun(n) // what is in t.Run has a name
			case *ast.RangeStmt:
				over := n.X
				if name, ok := over.(*ast.Ident); ok {
					over = tables[name.Name]
				}
				if isTable(over) && !isStep(n.Value) && usesT(n.Body) && !runsCases(n.Body) {
					found = append(found, files.Position(n.Pos()))
				}
			}
			return true
		})
	}
	return found, nil
}

// isTable reports whether e is a literal of three cases or more: a map, or a list of structs.
func isTable(e ast.Expr) bool {
	table, ok := e.(*ast.CompositeLit)
	if !ok || len(table.Elts) < 3 {
		return false
	}
	switch of := table.Type.(type) {
	case *ast.MapType:
		return true
	case *ast.ArrayType:
		_, ok := of.Elt.(*ast.StructType)
		return ok
	}
	return false
}

// isStep reports whether a loop's variable is called step: each follows from the one before.
func isStep(e ast.Expr) bool {
	name, ok := e.(*ast.Ident)
	return ok && name.Name == "step"
}

func isRun(call *ast.CallExpr) bool {
	s, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != "Run" {
		return false
	}
	on, ok := s.X.(*ast.Ident)
	return ok && on.Name == "t"
}

func runsCases(body *ast.BlockStmt) bool {
	return finds(body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		return ok && isRun(call)
	})
}

func usesT(body *ast.BlockStmt) bool {
	return finds(body, func(n ast.Node) bool {
		name, ok := n.(*ast.Ident)
		return ok && name.Name == "t"
	})
}

// finds reports whether body has a node of which is holds.
func finds(body *ast.BlockStmt, is func(ast.Node) bool) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		found = found || n != nil && is(n)
		return !found
	})
	return found
}
