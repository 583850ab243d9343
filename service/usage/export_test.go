package usage

// MaxLines is the maximum number of lines in a usage table.
const MaxLines = maxLines

// BoundTables changes the maximum number of lines in a usage table.
func (o *Operations) BoundTables(limit int) { o.handlers.maxLines = limit }
