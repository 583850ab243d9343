package contracts

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/chainaccess/gateway/relay/cache"
	"github.com/chainaccess/gateway/toolbox/abi"
)

// maxSignatures bounds how many signatures of a selector are tried. Most selectors have one; those
// that spammers target have dozens.
const maxSignatures = 64

// signature is an entry of the signature database.
type signature struct {
	Name     string `json:"name"`
	Filtered bool   `json:"filtered"` // known spam
	Verified bool   `json:"hasVerifiedContract"`
}

// named returns the functions that the database has for a selector, those of verified contracts
// first, and until when the result holds. It ignores names with another selector or not in
// canonical form.
func (s *Service) named(ctx context.Context, selector [4]byte) ([]*abi.Function, time.Time, error) {
	listed, err := s.signaturesOf(ctx, selector)
	if err != nil {
		return nil, time.Time{}, err
	}
	known := listed.Known
	slices.SortStableFunc(known, func(a, b signature) int {
		switch {
		case a.Verified == b.Verified:
			return 0
		case a.Verified:
			return -1
		}
		return 1
	})
	var list []*abi.Function
	for _, k := range known[:min(len(known), maxSignatures)] {
		f, err := abi.ParseSignature(k.Name)
		if err == nil && !k.Filtered && f.Selector() == selector && f.Signature() == k.Name {
			list = append(list, f)
		}
	}
	return list, listed.Until, nil
}

// signatures are the cached signatures of a selector.
type signatures struct {
	Known []signature
	Until time.Time
}

func (s *Service) signaturesOf(ctx context.Context, selector [4]byte) (signatures, error) {
	key := cache.NewKey([]byte("signatures of"), selector[:])
	var listed signatures
	if text, tier := s.answers.Get(ctx, key); tier != cache.Nowhere && json.Unmarshal(text, &listed) == nil &&
		s.left(listed.Until) > 0 {
		return listed, nil
	}
	hash := abi.Hex(selector[:])
	status, body, err := s.signatures.get(ctx, "/signature-database/v1/lookup?function="+hash+"&filter=true")
	if err != nil {
		return signatures{}, err
	}
	var said struct {
		OK     bool `json:"ok"`
		Result *struct {
			Function map[string][]signature `json:"function"` // null for an unknown selector
		} `json:"result"`
	}
	if err := json.Unmarshal(body, &said); err != nil || status != http.StatusOK || !said.OK || said.Result == nil {
		return signatures{}, s.signatures.failed(waitDefault, errGarbage).Wrap(err)
	}
	known, asked := said.Result.Function[hash]
	if !asked {
		return signatures{}, s.signatures.failed(waitDefault, errGarbage)
	}
	kept := LongTTL
	if len(known) == 0 {
		kept = ShortTTL
	}
	listed = signatures{known, s.now().Add(kept)}
	text, err := json.Marshal(listed)
	if err == nil {
		s.answers.Put(key, text, kept)
	}
	return listed, err
}
