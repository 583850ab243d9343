package account_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

func TestIDs_TravelThroughPostgreSQLTypes(t *testing.T) {
	t.Parallel()
	types := pgtype.NewMap()
	id, key := account.NewID(), account.NewKeyID()
	for _, format := range []int16{pgtype.BinaryFormatCode, pgtype.TextFormatCode} {
		encoded, err := types.Encode(pgtype.UUIDOID, format, id, nil)
		if err != nil {
			t.Fatalf("encode: %v", err)
		}
		var back account.ID
		if err := types.Scan(pgtype.UUIDOID, format, encoded, &back); err != nil || back != id {
			t.Errorf("format %d: %s comes back as %s: %v", format, id, back, err)
		}
		if encoded, err = types.Encode(pgtype.UUIDOID, format, key, nil); err != nil {
			t.Fatalf("encode: %v", err)
		}
		var backKey account.KeyID
		if err := types.Scan(pgtype.UUIDOID, format, encoded, &backKey); err != nil || backKey != key {
			t.Errorf("format %d: %s comes back as %s: %v", format, key, backKey, err)
		}
		many := []account.KeyID{key, account.NewKeyID()}
		if encoded, err = types.Encode(pgtype.UUIDArrayOID, format, many, nil); err != nil {
			t.Fatalf("encode array: %v", err)
		}
		var backMany []account.KeyID
		err = types.Scan(pgtype.UUIDArrayOID, format, encoded, &backMany)
		in := expect.In(t, "format %d", format)
		require.NoError(in, err)
		require.Len(in, backMany, 2)
		expect.Equal(in, backMany[1], many[1])
	}
}

func TestIDs_TravelAsText(t *testing.T) {
	t.Parallel()
	id := account.NewID()
	in := expect.In(t, "zero ids are not told apart")
	expect.False(in, id.IsZero())
	expect.True(in, (account.ID{}).IsZero())
	expect.NotEqual(in, (account.KeyID{}).IsZero(), account.NewKeyID().IsZero())
	if id.Version() != 7 || account.NewKeyID().Version() != 7 {
		t.Error("ids are not UUIDv7")
	}
	encoded, err := json.Marshal(map[account.ID]account.ID{id: id})
	if err != nil || string(encoded) != `{"`+id.String()+`":"`+id.String()+`"}` {
		t.Fatalf("%s, %v", encoded, err)
	}
	var back map[account.ID]account.ID
	if err := json.Unmarshal(encoded, &back); err != nil || back[id] != id {
		t.Errorf("%s comes back as %v: %v", encoded, back, err)
	}
}

func TestIDs_HaveOneSpelling(t *testing.T) {
	t.Parallel()
	id := account.NewID()
	if got, err := account.ParseID(id.String()); err != nil || got != id {
		t.Errorf("%s parses as %s: %v", id, got, err)
	}
	if got, err := account.ParseKeyID(id.String()); err != nil || got.UUID != id.UUID {
		t.Errorf("%s parses as %s: %v", id, got, err)
	}
	for _, text := range []string{
		"", "x", "{" + id.String() + "}", "urn:uuid:" + id.String(), strings.ReplaceAll(id.String(), "-", ""),
		id.String() + " ", strings.Repeat("g", 36),
	} {
		if _, err := account.ParseID(text); err == nil {
			t.Errorf("%q is an account id", text)
		}
		if _, err := account.ParseKeyID(text); err == nil {
			t.Errorf("%q is a key id", text)
		}
	}
}

// Keys in Redis depend on these values: a change orphans every counter of a running meter.
func TestShards_AreStable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"00000000-0000-0000-0000-000000000000": 435,
		"0193477e-1a2b-7c3d-8e4f-5a6b7c8d9e0f": 378,
		"ffffffff-ffff-ffff-ffff-ffffffffffff": 885,
	} {
		t.Run(text, func(t *testing.T) {
			if got := account.Shard(account.ID{UUID: uuid.MustParse(text)}); got != want {
				t.Errorf("%s lies in shard %d, want %d", text, got, want)
			}
		})
	}
}

func TestShards_AreEvenlyFilled(t *testing.T) {
	t.Parallel()
	const perShard = 64
	var count [account.Shards]int
	for range account.Shards * perShard {
		count[account.Shard(account.NewID())]++
	}
	for shard, n := range count {
		if n < perShard/4 || n > perShard*3 {
			t.Errorf("shard %d holds %d accounts of %d expected", shard, n, perShard)
		}
	}
}

func TestServices_AreThoseOfTheInterface(t *testing.T) {
	t.Parallel()
	var names []string
	for _, s := range account.Services() {
		names = append(names, string(s))
		if got, ok := account.ParseService(string(s)); !ok || got != s {
			t.Errorf("service %s does not parse", s)
		}
	}
	if got := strings.Join(names, " "); got != "rpc data gas tx_status ens prices contracts utils" {
		t.Errorf("services are %s", got)
	}
	for _, unknown := range []string{"", "RPC", "rpc ", "all"} {
		if _, ok := account.ParseService(unknown); ok {
			t.Errorf("%q is a service", unknown)
		}
	}
}
