package view

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Only tokens define colours, and nothing is loaded from other hosts.
func TestAssets_StayWithinDesignTokensAndThisHost(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("assets/*")
	if err != nil || len(files) < 3 {
		t.Fatalf("assets: %v, %v", files, err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := string(content)
		if file == "assets/console.css" {
			_, text, _ = strings.Cut(text, "/* Ground */")
			if text == "" {
				t.Fatal("the style sheet's tokens do not end where they should")
			}
			if found := regexp.MustCompile(`#[0-9a-fA-F]{3,8}\b`).FindString(text); found != "" {
				t.Errorf("%s has the colour %s outside the tokens", file, found)
			}
		}
		if found := regexp.MustCompile(`(https?:)?//[a-z][^\s"')]*|@import|url\(`).FindString(strings.ReplaceAll(text,
			"http://www.w3.org/2000/svg", "")); found != "" && file != "assets/icon.svg" {
			t.Errorf("%s names %q", file, found)
		}
	}
}
