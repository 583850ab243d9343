package toolbox

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// label sanitizes what a contract says of itself, because whoever deploys a token chooses its name.
// It keeps at most limit printable characters and single spaces. It removes control characters,
// characters that change the direction of text or have no width, and invalid UTF-8. It returns nil
// if nothing is left.
func label(text string, limit int) *string {
	var b strings.Builder
	space, count := false, 0
	for _, r := range strings.ToValidUTF8(text, "") {
		if r == utf8.RuneError || !unicode.IsGraphic(r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) ||
			unicode.Is(unicode.Variation_Selector, r) {
			continue
		}
		if unicode.IsSpace(r) {
			space = b.Len() > 0
			continue
		}
		if space && count+1 < limit {
			b.WriteByte(' ')
			count++
		} else if space || count == limit {
			break
		}
		space = false
		b.WriteRune(r)
		count++
	}
	if b.Len() == 0 {
		return nil
	}
	shown := b.String()
	return &shown
}
