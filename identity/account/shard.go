package account

// Shards is how many parts the meter's keys are spread over. It is part of the stored keys:
// changing it moves every account.
const Shards = 1024

// Shard is the account's part of the meter, 0 to Shards−1: the 64-bit FNV-1a hash of the sixteen
// bytes of the id, its upper bits folded onto the lower ones as FNV's authors advise for short
// results. Stored keys depend on it.
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
