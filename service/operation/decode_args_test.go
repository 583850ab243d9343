package operation

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/relay/chain"
)

// flat has every kind of field that a decoder sets.
type flat struct {
	Chain  chain.ID   `json:"chain"`
	Text   string     `json:"text,omitempty"`
	On     bool       `json:"on"`
	Whole  int64      `json:"whole"`
	Small  int8       `json:"small"`
	Number float64    `json:"number"`
	List   []string   `json:"list"`
	Chains []chain.ID `json:"chains"`
	Maybe  *int64     `json:"maybe"`
	Left   string     `json:"-"`
}

// The decoder must produce what JSON would; it leaves everything else to JSON.
func FuzzFillingAgreesWithJSON(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"chain":"eth_mainnet","text":"","on":true,"whole":-7,"small":127,"number":0.1,"list":["a","b"],` +
			`"chains":[],"maybe":5}`,
		`{"small":128}`, `{"small":1.5}`, `{"whole":9007199254740993}`, `{"whole":1e21}`, `{"whole":-0,"number":-0}`,
		`{"number":1e-7}`, `{"text":5}`, `{"on":"true"}`, `{"list":"a"}`, `{"list":[null]}`, `{"list":[1]}`,
		`{"list":[["a"]]}`, `{"text":null,"maybe":null}`, `{"text":"\ud800"}`, `{"text":"<&>\u2028"}`, `{"Text":"a"}`,
		`{"made":1}`, `{"Left":"a"}`, `{"-":"a"}`, `{"maybe":{}}`,
	} {
		f.Add(seed)
	}
	fill := decoderOf(reflect.TypeFor[flat]())
	f.Fuzz(func(t *testing.T, text string) {
		var args map[string]any
		if json.Unmarshal([]byte(text), &args) != nil {
			return
		}
		var filled, read flat
		if !fill.decode(&filled, args) {
			return
		}
		again, err := json.Marshal(args)
		if err == nil {
			err = json.Unmarshal(again, &read)
		}
		if err != nil || !reflect.DeepEqual(filled, read) {
			t.Fatalf("%s: filled %+v, JSON reads %+v, %v", text, filled, read, err)
		}
	})
}

func TestDecodeArgs_FillsPlainArguments(t *testing.T) {
	t.Parallel()
	args := map[string]any{
		"chain": "eth_mainnet", "text": "a", "on": true, "whole": -7.0, "small": 127.0, "number": 0.1,
		"list": []any{"a", "b"}, "chains": []any{"base_mainnet"}, "maybe": 5.0,
	}
	five := int64(5)
	want := flat{
		Chain: chain.EthMainnet, Text: "a", On: true, Whole: -7, Small: 127, Number: 0.1, List: []string{"a", "b"},
		Chains: []chain.ID{chain.BaseMainnet}, Maybe: &five,
	}
	var got flat
	if !decoderOf(reflect.TypeFor[flat]()).decode(&got, args) || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	args["text"] = "\xff"
	if decoderOf(reflect.TypeFor[flat]()).decode(&got, args) {
		t.Error("bytes that are no text were filled in as they are; JSON replaces them")
	}
}

// shout is a text with an UnmarshalText method.
type shout string

func (s *shout) UnmarshalText(text []byte) error {
	*s = shout(strings.ToUpper(string(text)))
	return nil
}

func TestDecodeArgs_LeavesStructsThatReadThemselvesToJSON(t *testing.T) {
	t.Parallel()
	for _, of := range []reflect.Type{
		reflect.TypeFor[struct {
			At time.Time `json:"at"`
		}](),
		reflect.TypeFor[struct {
			Loud shout `json:"loud"`
		}](),
		reflect.TypeFor[struct {
			Loud []*shout `json:"loud"`
		}](),
		reflect.TypeFor[struct {
			Inner struct{} `json:"inner"`
		}](),
		reflect.TypeFor[struct{ flat }](),
		reflect.TypeFor[struct{ Nameless string }](),
		reflect.TypeFor[struct {
			Quoted int `json:"quoted,string"`
		}](),
	} {
		if fill := decoderOf(of); fill != nil || fill.decode(nil, nil) {
			t.Errorf("%s is filled without JSON", of)
		}
	}
}
