package jsonrpc

// BatchIDs returns the id of each request of a batch, in order. It returns nil unless the body is
// a batch of at most limit objects that all have an id. The slices alias the body.
func BatchIDs(body []byte, limit int) [][]byte {
	if !IsBatch(body) {
		return nil
	}
	items, tooMany, err := SplitBatch(body, limit)
	if tooMany || err != nil {
		return nil
	}
	for i, item := range items {
		id := memberID(item)
		if id == nil || len(id) > maxIDBytes {
			return nil
		}
		items[i] = id
	}
	return items
}

// memberID returns the id of a valid JSON value, or nil when it is no object or has none.
func memberID(item []byte) (id []byte) {
	if item[0] != '{' {
		return nil
	}
	_ = members(item, func(name, val []byte) error { // a repeated id: the last one
		if string(name) == "id" {
			id = val
		}
		return nil
	})
	return id
}
