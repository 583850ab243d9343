package provider

import (
	"encoding/json"
	"strings"
)

// formats returns the guessed formats of a text. It is JSON if it parses.
func formats(text string) []string {
	if trimmed := strings.TrimSpace(text); trimmed != "" && (trimmed[0] == '{' || trimmed[0] == '[') &&
		json.Valid([]byte(trimmed)) {
		return []string{"json"}
	}
	found := map[string]bool{}
	for line := range strings.SplitSeq(text, "\n") {
		if format := formatOf(strings.TrimSpace(line)); format != "" {
			found[format] = true
		}
	}
	if found["javascript"] || found["python"] { // keys of their objects look like YAML
		delete(found, "yaml")
	}
	names := []string{}
	for _, name := range []string{"env", "toml", "javascript", "python", "yaml"} {
		if found[name] {
			names = append(names, name)
		}
	}
	return names
}

// formatOf returns the format of a line; empty if it may be any.
func formatOf(line string) string {
	switch {
	case line == "":
	case isAssignment(line):
		return "env"
	case line[0] == '[':
		if inner := strings.Trim(line, "[]"); strings.HasSuffix(line, "]") && inner != "" &&
			nameLen(inner) == len(inner) {
			return "toml"
		}
	case isPython(line):
		return "python"
	case isJavaScript(line):
		return "javascript"
	default:
		name := strings.TrimPrefix(line, "- ")
		if n := nameLen(name); n > 0 && n < len(name) && name[n] == ':' && (n+1 == len(name) || name[n+1] == ' ') {
			return "yaml"
		}
	}
	return ""
}

// isAssignment reports whether a line is NAME=value.
func isAssignment(line string) bool {
	line = strings.TrimPrefix(line, "export ")
	name, value, ok := strings.Cut(line, "=")
	name = strings.TrimRight(name, " ")
	return ok && name != "" && isLetter(name[0]) && name[0] != '_' && name == strings.ToUpper(name) &&
		wordLen(name) == len(name) && strings.TrimSpace(value) != ""
}

func isPython(line string) bool {
	if rest, ok := strings.CutPrefix(line, "import "); ok {
		return wordLen(rest) == len(rest)
	}
	if rest, ok := strings.CutPrefix(line, "from "); ok {
		n := nameLen(rest)
		return n > 0 && strings.HasPrefix(rest[n:], " import ")
	}
	n := wordLen(line)
	return n > 0 && strings.HasPrefix(line[n:], " = Web3(")
}

func isJavaScript(line string) bool {
	for _, begin := range []string{"export default", "export const", "const ", "let ", "var ", "module.exports"} {
		if strings.HasPrefix(line, begin) {
			return true
		}
	}
	return strings.HasPrefix(line, "import") && strings.ContainsAny(line, `'"`)
}

// nameLen returns the length of the name at the start of s, which may have dots and hyphens.
func nameLen(s string) int {
	i := 0
	for i < len(s) && (isWord(s[i]) || s[i] == '.' || s[i] == '-') {
		i++
	}
	return i
}
