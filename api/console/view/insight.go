package view

// Insight is a conclusion from the account's own usage.
type Insight struct {
	Title  string
	Status Status
	Text   string
	To     *Link
}
