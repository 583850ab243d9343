package expect

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"
)

const module = "github.com/chainaccess/gateway/"

// failf reports that an assertion failed. The format begins with the name of the fact, which is the
// assertion's second argument in the test's source; own is the number of the assertion's own
// arguments, after which the values that explain the failure follow.
func failf(t testing.TB, own int, with []any, format string, args ...any) {
	t.Helper()
	names := arguments(callSite())
	name := func(i int) string {
		if i < len(names) {
			return names[i]
		}
		return "the value"
	}
	var b strings.Builder
	fmt.Fprintf(&b, format, append([]any{name(1)}, args...)...)
	for i, value := range with {
		fmt.Fprintf(&b, "\n%s = %s", name(own+i), show(value))
	}
	t.Errorf("%s", b.String())
}

// callSite returns the file and line of the test's call of an assertion, and the assertion's name.
func callSite() (file string, line int, assertion string) {
	pcs := make([]uintptr, 16)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for {
		frame, more := frames.Next()
		function, inside := strings.CutPrefix(frame.Function, module+"internal/testkit/expect.")
		if !inside {
			function, inside = strings.CutPrefix(frame.Function, module+"internal/testkit/require.")
		}
		if !inside {
			return frame.File, frame.Line, assertion
		}
		assertion, _, _ = strings.Cut(function, "[")
		if !more {
			return "", 0, ""
		}
	}
}

// arguments returns the source of the arguments of an assertion's call, or nil where the source is
// not at hand.
func arguments(file string, line int, assertion string) []string {
	if rest, trimmed := strings.CutPrefix(file, module); trimmed { // built with -trimpath
		file = filepath.Join(root(), rest)
	}
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	var found []string
	ast.Inspect(parsed, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || calls(call) != assertion || files.Position(call.Pos()).Line > line ||
			files.Position(call.End()).Line < line {
			return true
		}
		found = nil
		for _, a := range call.Args {
			var b strings.Builder
			if err := printer.Fprint(&b, files, a); err != nil {
				return true
			}
			found = append(found, strings.Join(strings.Fields(b.String()), " "))
		}
		return true
	})
	return found
}

// calls returns the name of the function that a call calls, without its package.
func calls(call *ast.CallExpr) string {
	fun := call.Fun
	if index, ok := fun.(*ast.IndexExpr); ok { // with a type argument
		fun = index.X
	}
	if selector, ok := fun.(*ast.SelectorExpr); ok {
		return selector.Sel.Name
	}
	return ""
}

// root returns the folder of the module, which holds the working directory of each test.
func root() string {
	folder, err := os.Getwd()
	for err == nil && folder != filepath.Dir(folder) {
		if _, missing := os.Stat(filepath.Join(folder, "go.mod")); missing == nil {
			return folder
		}
		folder = filepath.Dir(folder)
	}
	return ""
}

// maxShown bounds the bytes of a value that a message has.
const maxShown = 8 << 10

// show returns a value as a message has it: texts in quotes, structs with the names of their
// fields, all of at most maxShown bytes.
func show(value any) string {
	text := whole(value)
	if len(text) <= maxShown {
		return text
	}
	return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(text[:maxShown], ""), len(text))
}

func whole(value any) string {
	if isNil(value) {
		return "nil"
	}
	if printable(value) {
		return fmt.Sprintf("%v", value)
	}
	v := reflect.ValueOf(value)
	switch {
	case v.Kind() == reflect.String:
		return fmt.Sprintf("%q", value)
	case v.Kind() == reflect.Pointer:
		return "&" + whole(v.Elem().Interface())
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8 && utf8.Valid(v.Bytes()):
		return fmt.Sprintf("%q", v.Bytes())
	default:
		return fmt.Sprintf("%+v", value)
	}
}

// printable reports whether a value says itself how it is printed.
func printable(value any) bool {
	switch value.(type) {
	case error, fmt.Stringer:
		return true
	}
	return false
}

// isNil reports whether a value is nil, or an interface that holds nil.
func isNil(value any) bool {
	v := reflect.ValueOf(value)
	switch v.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Chan, reflect.Func, reflect.Interface, reflect.Map, reflect.Pointer, reflect.Slice:
		return v.IsNil()
	default:
		return false
	}
}
