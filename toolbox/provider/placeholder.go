package provider

import "strings"

// A placeholder is replaced by a value from elsewhere: ${process.env.KEY}, {{key}}, {key},
// <YOUR_KEY>, $KEY.

// maxPlaceholder is the maximum length of a placeholder in bytes.
const maxPlaceholder = 200

// placeholderAt returns the length of the placeholder at the start of s, except $KEY; 0 if there is
// none.
func placeholderAt(s string) int {
	if strings.HasPrefix(s, "<") {
		return inAngles(s)
	}
	rest := strings.TrimPrefix(s, "$")
	opened := 0
	for opened < len(rest) && opened < 2 && rest[opened] == '{' {
		opened++
	}
	if opened == 0 {
		return 0
	}
	length := strings.IndexAny(rest[opened:min(len(rest), opened+maxPlaceholder)], "{}\n\"`")
	if length < 0 || rest[opened+length] != '}' {
		return 0
	}
	end := opened + length + 1
	if opened == 2 && strings.HasPrefix(rest[end:], "}") {
		end++
	}
	return len(s) - len(rest) + end
}

// inAngles is placeholderAt for <YOUR_KEY>, which consists of a few plain words.
func inAngles(s string) int {
	const most = 60
	i := 1
	for i < len(s) && i <= most && (isWord(s[i]) || s[i] == ' ' || s[i] == '-') {
		i++
	}
	if i == 1 || i == len(s) || s[i] != '>' {
		return 0
	}
	return i + 1
}

// hasPlaceholder reports whether a piece of an address contains a placeholder.
func hasPlaceholder(s string) bool {
	for i := range len(s) {
		if strings.IndexByte("${<", s[i]) >= 0 &&
			(placeholderAt(s[i:]) > 0 || s[i] == '$' && i+1 < len(s) && isLetter(s[i+1])) {
			return true
		}
	}
	return false
}

// isPlaceholder reports whether a value is only a placeholder, or words that ask for the value.
func isPlaceholder(s string) bool {
	if n := placeholderAt(s); n > 0 && n == len(s) {
		return true
	}
	if name, ok := strings.CutPrefix(s, "$"); ok && name != "" && isLetter(name[0]) && wordLen(name) == len(name) {
		return true
	}
	return spelledOut(s)
}

// askingWords are the only words of a value that is still to be filled in. Other words may be part
// of a key.
var askingWords = words(
	`your my the a an replace replaceme insert enter paste add put change changeme me with this api apikey project app access auth key keys token id secret here
	value demo public docs example placeholder rpc node url endpoint yourkey yourapikey mykey myapikey todo none
	alchemy infura quicknode ankr drpc chainstack moralis helius blast getblock tenderly blockpi thirdweb etherscan pocket nodies`)

// spelledOut reports whether a value is still to be filled in: YOUR_API_KEY,
// your-infura-project-id, xxxx. Keys have digits and mixed case.
func spelledOut(s string) bool {
	if lower := strings.ToLower(s); s == "" || s != lower && s != strings.ToUpper(s) {
		return false
	} else if len(s) >= 3 && strings.Trim(lower, "x") == "" || strings.Trim(lower, ".") == "" {
		return true
	}
	for word := range strings.FieldsFuncSeq(strings.ToLower(s), func(r rune) bool {
		return r == '-' || r == '_' || r == ' '
	}) {
		if !askingWords[word] {
			return false
		}
	}
	return strings.Trim(s, "-_ ") != ""
}

func isLetter(c byte) bool { return c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isWord reports whether a byte can be part of an identifier.
func isWord(c byte) bool { return isLetter(c) || isDigit(c) }

// wordLen returns the length of the word at the start of s.
func wordLen(s string) int {
	i := 0
	for i < len(s) && isWord(s[i]) {
		i++
	}
	return i
}
