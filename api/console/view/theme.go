package view

import "strings"

// Theme is a colour theme.
type Theme string

// The themes. auto follows the system's setting.
const (
	ThemeAuto  Theme = "auto"
	themeLight Theme = "light"
	ThemeDark  Theme = "dark"
)

// Themes are the themes, in the order of the switch.
var Themes = []Theme{ThemeAuto, themeLight, ThemeDark}

// Label returns the label of the theme's button.
func (t Theme) Label() string { return strings.ToUpper(string(t[:1])) + string(t[1:]) }
