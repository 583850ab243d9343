package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// testName is the form of a test's name: the subject, an underscore and the guarantee.
var testName = regexp.MustCompile(`^Test[A-Z][A-Za-z0-9]*_[A-Z0-9][A-Za-z0-9]*$`)

// maxTestName bounds the length of a test's name.
const maxTestName = 70

func TestTestNames_BeginWithTheirSubject(t *testing.T) {
	t.Parallel()
	tests := 0
	for folder, names := range sourceFiles(t) {
		for _, name := range names {
			if !strings.HasSuffix(name, "_test.go") || strings.Contains(folder, "testdata") {
				continue
			}
			file := filepath.Join(folder, name)
			parsed, err := parser.ParseFile(token.NewFileSet(), file, read(t, file), parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, test := range testsOf(parsed) {
				tests++
				if !testName.MatchString(test) || len(test) > maxTestName {
					t.Errorf("%s: name %s as TestSubject_StatesTheGuarantee, in at most %d characters", file, test,
						maxTestName)
				}
			}
		}
	}
	if tests < 2000 {
		t.Errorf("%d tests read", tests)
	}
}

func TestTestNames_OddOnesAreFound(t *testing.T) {
	t.Parallel()
	for name, good := range map[string]bool{
		"TestRedeem_RejectsSpentTransaction": true, "TestX402_OtherOriginsMayPay": true,
		"TestASpentTransactionIsRejected": false, "Test_Redeem": false, "TestRedeem_": false,
		"TestRedeem_rejects": false, "TestRedeem_Rejects_Spent": false,
	} {
		t.Run(name, func(t *testing.T) {
			if got := testName.MatchString(name); got != good {
				t.Errorf("%s is a good name: %t, want %t", name, got, good)
			}
		})
	}
	const source = `package p
func TestMain(m *testing.M) {}
func TestOne(t *testing.T) {}
func Testify(t *testing.T) {}
func (s set) TestTwo(t *testing.T) {}
func FuzzThree(f *testing.F) {}
`
	parsed, err := parser.ParseFile(token.NewFileSet(), "p_test.go", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(testsOf(parsed), " "); got != "TestOne Testify" {
		t.Errorf("the tests are %s, want TestOne and Testify", got)
	}
}

// testsOf lists the test functions of a file. TestMain and fuzz targets are none: the name of a
// fuzz target is also that of its folder of seeds.
func testsOf(file *ast.File) []string {
	var found []string
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") && f.Name.Name != "TestMain" {
			found = append(found, f.Name.Name)
		}
	}
	return found
}
