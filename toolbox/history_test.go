package toolbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/toolbox/node"
)

const (
	owner = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
	other = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
)

// ledgerOf returns a ledger on a scripted chain.
func ledgerOf(chains dataCaller) *Ledger { return NewLedger(chains, nil, dataNow) }

// scripted is a transfer with an arbitrary rank within its block.
type scripted struct {
	block    uint64
	from, to string
	rank     uint32
	view     map[string]any
}

// index is a scripted provider of transfers, with a chain that grows.
type index struct {
	mu        sync.Mutex // guards what follows
	head      uint64
	transfers []scripted
	grow      func() // before each answer
	spoil     func(page map[string]any)
	keys      map[string]string // of pages, to their query and position
	asked     int
	refuse    error
}

func (x *index) Availability(chain.ID, chain.Capability) upstream.Availability { return upstream.Live }

func (x *index) add(block uint64, from, to, kind string, more map[string]any) string {
	id := fmt.Sprintf("0x%064x:%s", block<<20+uint64(len(x.transfers)), kind) //nolint:gosec // small
	t := map[string]any{
		"blockNum": hexutil.EncodeUint64(block), "uniqueId": id, "hash": id[:66], "from": strings.ToLower(from),
		"to": strings.ToLower(to), "category": "erc20", "asset": "USDC", "metadata": map[string]any{
			"blockTimestamp": "2026-11-02T11:00:00.000Z",
		},
		"rawContract": map[string]any{
			"value": "0x0f4240", "address": "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48", "decimal": "0x6",
		},
	}
	maps.Copy(t, more)
	rank := uint32(len(x.transfers)) * 2654435761 //nolint:gosec // small
	x.transfers = append(x.transfers, scripted{block, strings.ToLower(from), strings.ToLower(to), rank, t})
	return id
}

// Call answers one query at a time, because the ledger reads both sides in parallel.
func (x *index) Call(_ context.Context, q node.Query) (json.RawMessage, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.asked++
	if x.refuse != nil {
		return nil, x.refuse
	}
	if x.grow != nil {
		x.grow()
	}
	if q.Needs != chain.Data || q.Supply != dataSupply {
		return nil, fmt.Errorf("%s needs %q of supply %q", q.Method, q.Needs, q.Supply)
	}
	if q.Method == "eth_blockNumber" {
		return json.Marshal(hexutil.EncodeUint64(x.head))
	}
	return x.page(q)
}

func (x *index) page(q node.Query) (json.RawMessage, error) {
	var p struct {
		FromField string `json:"fromAddress"`
		ToField   string `json:"toAddress"`
		ToBlock   hexutil.Uint64
		MaxCount  hexutil.Uint64
		PageKey   string
		Order     string
		Zero      bool `json:"excludeZeroValue"`
	}
	raw, err := json.Marshal(q.Params[0])
	if err == nil {
		err = json.Unmarshal(raw, &p)
	}
	if err != nil || q.Method != "alchemy_getAssetTransfers" || p.Order != "desc" || p.Zero {
		return nil, fmt.Errorf("%s with %s: %w", q.Method, raw, err)
	}
	var matching []scripted
	from, to := strings.ToLower(p.FromField), strings.ToLower(p.ToField)
	for _, t := range x.transfers {
		if (t.from == from || t.to == to) && t.block <= uint64(p.ToBlock) {
			matching = append(matching, t)
		}
	}
	//nolint:gosec // another order for each side and size
	salt := uint32(0x5bd1e995)*uint32(len(p.FromField)) ^ uint32(p.MaxCount)*2246822519
	slices.SortFunc(matching, func(a, b scripted) int {
		return cmp.Or(cmp.Compare(b.block, a.block), cmp.Compare(a.rank^salt, b.rank^salt))
	})
	identity, begin := fmt.Sprintf("%s %s %d %d", p.FromField, p.ToField, p.ToBlock, p.MaxCount), 0
	if p.PageKey != "" {
		of, place, _ := strings.Cut(x.keys[p.PageKey], "@")
		if of != identity {
			return nil, &node.Error{Code: -32602, Message: "page key is not found"}
		}
		begin, _ = strconv.Atoi(place)
	}
	end := min(begin+int(p.MaxCount), len(matching)) //nolint:gosec // small
	shown := []map[string]any{}
	for _, t := range matching[begin:end] {
		shown = append(shown, t.view)
	}
	page := map[string]any{"transfers": shown}
	if end < len(matching) {
		key := fmt.Sprintf("key-%d", len(x.keys))
		x.keys[key] = fmt.Sprintf("%s@%d", identity, end)
		page["pageKey"] = key
	}
	if x.spoil != nil {
		x.spoil(page)
	}
	return json.Marshal(page)
}

// walk follows cursors to the end, with a page size that varies.
func walk(t *testing.T, l *Ledger, limits ...int) (all []Transfer, pages int) {
	t.Helper()
	p := HistoryPage{Chain: chain.EthMainnet, Address: owner}
	for {
		p.Limit = limits[pages%len(limits)]
		got, err := l.History(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Transfers) > p.Limit || (got.NextCursor != nil && len(got.Transfers) != p.Limit) {
			t.Fatalf("page %d of %d has %d transfers, more to come: %t", pages, p.Limit, len(got.Transfers),
				got.NextCursor != nil)
		}
		all, pages = append(all, got.Transfers...), pages+1
		if got.NextCursor == nil {
			return all, pages
		}
		p.Cursor = *got.NextCursor
	}
}

// TestHistory_PagesNeitherLoseNorRepeatATransfer pages through histories of every density, while
// blocks arrive.
func TestHistory_PagesNeitherLoseNorRepeatATransfer(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // repeatable
		x := &index{head: 1 + random.Uint64N(40), keys: map[string]string{}}
		stranger := "0x00000000000000000000000000000000000000ff"
		want := map[string]bool{}
		put := func(block uint64) string {
			parties := [][2]string{{owner, other}, {other, owner}, {owner, owner}, {stranger, other}}[random.IntN(4)]
			kind := []string{"external", fmt.Sprintf("log:%d", random.IntN(300)), "internal:0_1"}[random.IntN(3)]
			id := x.add(block, parties[0], parties[1], kind, nil)
			if parties[0] == stranger {
				return ""
			}
			return id
		}
		for block := range x.head + 1 {
			crowd := random.IntN(4)
			if random.IntN(12) == 0 {
				crowd = random.IntN(200)
			}
			for range crowd {
				if id := put(block); id != "" {
					want[id] = true
				}
			}
		}
		begun := false
		x.grow = func() { // what arrives after the first page was started is on no page
			if begun {
				x.head++
				put(x.head)
			}
			begun = true
		}
		all, _ := walk(t, ledgerOf(x), 5+random.IntN(96), 5+random.IntN(96))
		got := map[string]bool{}
		for i, tr := range all {
			if got[tr.ID] {
				t.Errorf("seed %d: %s comes twice", seed, tr.ID)
			}
			got[tr.ID] = true
			if !want[tr.ID] {
				t.Errorf("seed %d: %s of block %d is none of them", seed, tr.ID, tr.BlockNumber)
			}
			if i > 0 && tr.BlockNumber > all[i-1].BlockNumber {
				t.Errorf("seed %d: block %d follows block %d", seed, tr.BlockNumber, all[i-1].BlockNumber)
			}
		}
		if len(got) != len(want) {
			t.Fatalf("seed %d: %d of %d transfers", seed, len(got), len(want))
		}
	}
}

func TestHistory_OrderIsTheSameWhateverThePages(t *testing.T) {
	t.Parallel()
	x := &index{head: 5, keys: map[string]string{}}
	for i := range 60 {
		from, to := owner, other
		if i%3 == 0 {
			from, to = other, owner
		}
		x.add(uint64(i%5), from, to, fmt.Sprintf("log:%d", i), nil) //nolint:gosec // small
	}
	whole, pages := walk(t, ledgerOf(x), 100)
	parts, _ := walk(t, ledgerOf(x), 7)
	if pages != 1 || !slices.EqualFunc(whole, parts, func(a, b Transfer) bool { return a.ID == b.ID }) {
		t.Errorf("in %d pages and in many they differ", pages)
	}
	for i := 1; i < len(whole); i++ {
		a, b := whole[i-1], whole[i]
		if a.BlockNumber == b.BlockNumber && placeOf(a.ID) <= placeOf(b.ID) {
			t.Errorf("%s stands before %s", a.ID, b.ID)
		}
	}
}

func TestHistory_UsualPageTakesOneQueryForEachSide(t *testing.T) {
	t.Parallel()
	x := &index{head: 1000, keys: map[string]string{}}
	for block := range uint64(1000) {
		x.add(block, owner, other, "external", nil)
		x.add(block, other, owner, "external", nil)
	}
	first, err := ledgerOf(x).History(t.Context(), HistoryPage{
		Chain: chain.EthMainnet, Address: owner, Limit: UsualTransfers,
	})
	in := expect.In(t, "the first page took")
	require.NoError(in, err)
	require.Equal(in, x.asked, 3)
	require.NotNil(in, first.NextCursor)
	_, err = ledgerOf(x).History(t.Context(), HistoryPage{
		Chain: chain.EthMainnet, Address: owner, Limit: UsualTransfers, Cursor: *first.NextCursor,
	})
	if err != nil || x.asked != 5 {
		t.Errorf("the second took %d queries, %v; want both sides", x.asked-3, err)
	}
}

func TestHistory_TransfersAreShownForWhatTheyAre(t *testing.T) {
	t.Parallel()
	nft := map[string]any{"value": nil, "address": "0xbc4ca0eda7647a8ab7c2061c2e118a18a936f13d", "decimal": nil}
	x := &index{head: 9, keys: map[string]string{}}
	x.add(9, owner, other, "external", map[string]any{
		"category": "external", "asset": "ETH", "rawContract": map[string]any{
			"value": "0xde0b6b3a7640001", "address": nil, "decimal": "0x12",
		},
	})
	x.add(8, other, owner, "log:3", nil)
	x.add(7, owner, owner, "log:2", map[string]any{
		"category": "erc721", "asset": "BAYC", "rawContract": nft, "erc721TokenId": "0x1f", "tokenId": "0x1f",
	})
	x.add(6, other, owner, "log:1", map[string]any{
		"category": "erc1155", "asset": nil, "rawContract": nft,
		"erc1155Metadata": []any{
			map[string]any{"tokenId": "0x05", "value": "0x02"}, map[string]any{"tokenId": "0x06", "value": "0x0100"},
		},
	})
	x.add(5, owner, other, "external", map[string]any{
		"to": nil, "category": "external", "metadata": nil, "rawContract": map[string]any{
			"value": "0x0", "address": nil, "decimal": "0x12",
		},
	})
	x.add(4, other, owner, "log:0", map[string]any{
		"asset": "A\u202eB\x00\n C", "rawContract": map[string]any{"value": "0xff", "address": other, "decimal": nil},
	})
	all, _ := walk(t, ledgerOf(x), 100)
	show := func(s *string) string {
		if s == nil {
			return "-"
		}
		return *s
	}
	var got []string
	for _, tr := range all {
		to := "nobody"
		if tr.To != nil {
			to = (*tr.To)[:6]
		}
		got = append(got, strings.Join([]string{
			strconv.FormatUint(tr.BlockNumber, 10), tr.Direction, tr.Category, to, show(tr.Asset), show(tr.Value),
			show(tr.ValueRaw), show(tr.TokenID),
		}, " "))
	}
	want := []string{
		"9 out external 0x7099 ETH 1.000000000000000001 1000000000000000001 -",
		"8 in erc20 0xf39F USDC 1 1000000 -",
		"7 self erc721 0xf39F BAYC 1 1 31",
		"6 in erc1155 0xf39F - 2 2 5",
		"6 in erc1155 0xf39F - 256 256 6",
		"5 out external nobody USDC 0 0 -",
		"4 in erc20 0xf39F AB C - 255 -",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	in := expect.In(t, "contracts, ids or times are wrong")
	expect.Nil(in, all[0].Contract)
	expect.Equal(in, show(all[2].Contract), "0xBC4CA0EdA7647A8aB7C2061c2E118A18a936f13D")
	expect.NotEqual(in, all[3].ID, all[4].ID)
	expect.Nil(in, all[5].Timestamp)
}

func TestHistory_InvalidAnswersOfAnIndexAreFailures(t *testing.T) {
	t.Parallel()
	all := func(page map[string]any) []map[string]any {
		list, _ := page["transfers"].([]map[string]any)
		return list
	}
	first := func(page map[string]any) map[string]any { return all(page)[0] }
	for name, spoil := range map[string]func(page map[string]any){
		"no list":               func(p map[string]any) { p["transfers"] = "none" },
		"another order":         func(p map[string]any) { slices.Reverse(all(p)) },
		"above the asked block": func(p map[string]any) { first(p)["blockNum"] = "0x1000" },
		"another address":       func(p map[string]any) { first(p)["from"], first(p)["to"] = other, other },
		"without an id":         func(p map[string]any) { delete(first(p), "uniqueId") },
		"with a long id":        func(p map[string]any) { first(p)["uniqueId"] = strings.Repeat("a", 300) },
		"with an immense value": func(p map[string]any) {
			first(p)["rawContract"] = map[string]any{"value": "0x1" + strings.Repeat("0", 64)}
		},
		"a negative value": func(p map[string]any) {
			first(p)["rawContract"] = map[string]any{"value": "0x-1"}
		},
		"another category":         func(p map[string]any) { first(p)["category"] = "specialnft" },
		"a page key and no more":   func(p map[string]any) { p["transfers"], p["pageKey"] = []any{}, "next" },
		"an immense page key":      func(p map[string]any) { p["pageKey"] = strings.Repeat("k", 2000) },
		"a hash that is too short": func(p map[string]any) { first(p)["hash"] = "0x12" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := &index{head: 9, keys: map[string]string{}}
			for block := range uint64(9) {
				x.add(block, owner, owner, "external", nil)
			}
			x.spoil = func(page map[string]any) {
				copied := slices.Clone(all(page))
				copied[0] = copyOf(copied[0])
				page["transfers"] = copied
				spoil(page)
			}
			_, err := ledgerOf(x).History(t.Context(), HistoryPage{Chain: chain.EthMainnet, Address: owner, Limit: 5})
			refusedFor(t, err, fault.NoUpstream)
		})
	}
}

func TestHistory_CrowdedBlockIsRefusedAndNotCut(t *testing.T) {
	t.Parallel()
	x := &index{head: 2, keys: map[string]string{}}
	for i := range maxRounds * maxAtOnce {
		x.add(2, owner, other, fmt.Sprintf("log:%d", i), nil)
	}
	x.add(1, owner, other, "external", nil)
	_, err := ledgerOf(x).History(t.Context(), HistoryPage{Chain: chain.EthMainnet, Address: owner, Limit: 5})
	refusedFor(t, err, fault.NoUpstream)
	if !errors.Is(err, errCrowdedBlock) || x.asked > 2*maxRounds+1 {
		t.Errorf("after %d queries: %v", x.asked, err)
	}
}

func TestHistory_CursorsBelongToTheirAddressAndChain(t *testing.T) {
	t.Parallel()
	x := &index{head: 9, keys: map[string]string{}}
	for block := range uint64(9) {
		x.add(block, owner, other, "external", nil)
	}
	got, err := ledgerOf(x).History(t.Context(), HistoryPage{Chain: chain.EthMainnet, Address: owner, Limit: 3})
	require.NoError(t, err)
	require.NotNil(t, got.NextCursor)
	require.AtMost(t, len(*got.NextCursor), MaxCursor, *got.NextCursor)
	cursor := *got.NextCursor
	if refusal := CheckCursor(chain.EthMainnet, owner, cursor); refusal != nil {
		t.Error(refusal)
	}
	for i := range cursor {
		for _, c := range []byte{'A', 'B', '_'} {
			if changed := cursor[:i] + string(c) + cursor[i+1:]; changed != cursor &&
				CheckCursor(chain.EthMainnet, owner, changed) == nil {
				t.Errorf("with another character at %d it is accepted", i)
			}
		}
	}
	for name, refused := range map[string]*fault.Error{
		"another chain":   CheckCursor(chain.BaseMainnet, owner, cursor),
		"another address": CheckCursor(chain.EthMainnet, other, cursor),
		"cut":             CheckCursor(chain.EthMainnet, owner, cursor[:len(cursor)-1]),
		"longer":          CheckCursor(chain.EthMainnet, owner, cursor+"AAAA"),
		"a page key":      CheckCursor(chain.EthMainnet, owner, "3fa85f64-5717-4562-b3fc-2c963f66afa6"),
		"padded":          CheckCursor(chain.EthMainnet, owner, cursor+"="),
		"white space":     CheckCursor(chain.EthMainnet, owner, " "+cursor),
	} {
		t.Run(name, func(t *testing.T) {
			in := expect.In(t, "%s", name)
			require.NotNil(in, refused)
			expect.Equal(in, refused.Reason, fault.FieldRefused)
			expect.Contains(in, refused.Message, "cursor")
		})
	}
}
