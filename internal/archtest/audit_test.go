package archtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// fakeProgram writes an executable that prints says and exits with code.
func fakeProgram(t *testing.T, dir, name, says, code string) string {
	t.Helper()
	text := filepath.Join(dir, name+".txt")
	if err := os.WriteFile(text, []byte(says), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name)
	script := "#!/bin/sh\ncat '" + text + "'\nexit " + code + "\n"
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil { //nolint:gosec // a program must be executable
		t.Fatal(err)
	}
	return path
}

func TestAuditDeps_FailsForHolesAndSaysWhenNothingWasLookedAt(t *testing.T) {
	t.Parallel()
	const (
		fetching = "govulncheck: fetching vulnerabilities: "
		noGo     = fetching +
			`Get "https://vuln.go.dev/index/modules.json.gz": dial tcp: lookup vuln.go.dev: no such host`
		// a finding counts as one even when its text mentions a failed connection
		goHole   = "Vulnerability #1: GO-2025-0001\n  fetching vulnerabilities: dial tcp"
		npmClean = `{"auditReportVersion": 2, "vulnerabilities": {}}`
		npmHole  = `{"auditReportVersion": 2, "vulnerabilities": {"left-pad": {"severity": "high", "via": ` +
			`["ENOTFOUND"]}}}`
		noNPM = `{"message": "request to https://registry.example failed", "error": {"code": "ENOTFOUND"}}`
	)
	for name, tc := range map[string]struct {
		goSays, goCode, npmSays, npmCode string
		fails                            bool
		want                             []string
	}{
		"clean": {
			"No vulnerabilities found.", "0", npmClean, "0", false, []string{
				"no known hole is called", "test/e2e/: no known hole of high severity",
				"test/e2e/mcp/: no known hole of high severity",
			},
		},
		"a hole in a module":  {goHole, "3", npmClean, "0", true, []string{"GO-2025-0001", "upgrade"}},
		"a hole in a package": {"", "0", npmHole, "1", true, []string{"left-pad", "npm audit fix"}},
		"no databases": {
			noGo, "1", noNPM, "1", false, []string{
				"Go modules were NOT audited", "npm packages of test/e2e/ were NOT audited",
			},
		},
		"a broken database": {fetching + "unexpected format", "1", npmClean, "0", true, []string{"another reason"}},
		"code that is no code": {
			"govulncheck: loading packages: syntax error", "1", npmClean, "0", true, []string{"another reason"},
		},
		"npm without lock file": {"", "0", `{"error": {"code": "ENOLOCK"}}`, "1", true, []string{"another reason"}},
		"a hole, and no npm":    {goHole, "3", noNPM, "1", true, []string{"GO-2025-0001", "NOT audited"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			fakeProgram(t, dir, "npm", tc.npmSays, tc.npmCode)
			cmd := exec.CommandContext(t.Context(), filepath.Join(root(t), "scripts", "audit-deps"))
			cmd.Env = append(os.Environ(), "GOVULNCHECK="+fakeProgram(t, dir, "govulncheck", tc.goSays, tc.goCode),
				"PATH="+dir+":"+os.Getenv("PATH"))
			out, err := cmd.CombinedOutput()
			if (err != nil) != tc.fails {
				t.Errorf("ended with %v, want a failure: %v\n%s", err, tc.fails, out)
			}
			for _, want := range tc.want {
				if !strings.Contains(string(out), want) {
					t.Errorf("%q is not said:\n%s", want, out)
				}
			}
		})
	}
}
