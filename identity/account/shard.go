package account

// Shards is the number of parts that the meter's keys are spread over. Stored keys contain the
// part: changing it moves every account.
const Shards = 1024

// Shard returns the account's part of the meter, 0 to Shards−1: the 64-bit FNV-1a hash of the
// sixteen bytes of the id, its upper bits XOR-folded onto the lower ones as FNV's authors advise
// for short results. Stored keys depend on it.
func Shard(id ID) int {
	const (
		offset = 14695981039346656037
		prime  = 1099511628211
		bits   = 10
	)
	h := uint64(offset)
	for _, b := range id.UUID {
		h = (h ^ uint64(b)) * prime
	}
	return int((h ^ h>>bits ^ h>>(2*bits)) % Shards)
}
