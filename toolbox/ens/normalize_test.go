package ens_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/toolbox/ens"
)

func TestNormalize_ASCIINames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"vitalik.eth": "vitalik.eth", "VITALIK.eTh": "vitalik.eth", "eth": "eth", "a.b.c.d": "a.b.c.d",
		"1-2.3": "1-2.3", "-.eth": "-.eth", "-a-.eth": "-a-.eth", "_dnslink.a": "_dnslink.a", "___": "___",
		"__a.__b": "__a.__b", "$.eth": "$.eth", "$$$--.eth": "$$$--.eth", "a--b.eth": "a--b.eth",
		"abc--.eth": "abc--.eth", "0x123.ETH": "0x123.eth",
		strings.Repeat("A", 250) + ".eth": strings.Repeat("a", 250) + ".eth",
		strings.Repeat("a.", 126) + "bc":  strings.Repeat("a.", 126) + "bc",
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := ens.Normalize(name); err != nil || got != want {
				t.Errorf("%.40q: %.40q, %v; want %.40q", name, got, err, want)
			}
		})
	}
}

func TestNormalize_RefusesNamesThatAreNotServed(t *testing.T) {
	t.Parallel()
	for name, words := range map[string]string{
		"": "is empty", ".": "empty label", ".eth": "empty label", "eth.": "empty label", "a..eth": "empty label",
		"...": "empty label", "a b.eth": "no name has", " vitalik.eth": "no name has", "vitalik.eth\n": "no name has",
		"a\x00.eth": "no name has", "a\x7f.eth": "no name has", "%76italik.eth": "no name has",
		"a/b.eth": "no name has", "a@b.eth": "no name has", "it's.eth": "no name has",
		"[" + strings.Repeat("a", 64) + "].eth": "no name has", "a_b.eth": "underscore", "a_.eth": "underscore",
		"_a_.eth": "underscore", "ab--c.eth": "third and fourth", "xn--ls8h.eth": "third and fourth",
		"XN--a": "third and fourth", "__--a": "third and fourth", "ab--": "third and fourth",
		strings.Repeat("a", 251) + ".eth": "too long", strings.Repeat("a", 1<<20): "too long",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ens.Normalize(name)
			told, ok := errors.AsType[*ens.NameError](err)
			in := expect.In(t, "%.40q", name)
			require.True(in, ok, err)
			expect.False(in, told.BeyondASCII)
			expect.Contains(in, told.Problem, words)
		})
	}
	for what, name := range map[string]string{
		"emoji": "🥷.eth", "an emoji among letters": "a🥷.eth", "zero width joiner": "vita\u200dlik.eth",
		"zero width space": "vitalik\u200b.eth", "a soft hyphen": "vita\u00adlik.eth",
		"a Cyrillic letter": "vitаlik.eth", "full width": "ｖitalik.eth", "a full stop of full width": "vitalik．eth",
		"an ideographic full stop": "vitalik。eth", "an accent": "vitálik.eth",
		"a combining accent": "vita\u0301lik.eth", "a keycap": "1\ufe0f\u20e3.eth",
		"right to left": "\u202evitalik.eth", "a Turkish capital": "VİTALIK.eth", "the Kelvin sign": "vitali\u212a.eth",
		"a long s": "\u017f.eth", "invalid UTF-8": "vitalik\xff.eth", "an overlong form": "vitalik\xc0\xae.eth",
		"a surrogate": "\xed\xa0\x80.eth", "a replacement": "vitalik\ufffd.eth",
		"a byte order mark": "\ufeffvitalik.eth", "a long name": strings.Repeat("é", 1000),
	} {
		t.Run(what, func(t *testing.T) {
			_, err := ens.Normalize(name)
			told, ok := errors.AsType[*ens.NameError](err)
			in := expect.In(t, "%s", what)
			require.True(in, ok, err)
			expect.True(in, told.BeyondASCII)
			expect.Contains(in, told.Problem, "Only the ASCII subset")
		})
	}
}

func FuzzNormalize(f *testing.F) {
	for _, seed := range []string{
		"vitalik.eth", "A.B", "_a.$", "xn--a", "a_b", "..", "\xff", "é", strings.Repeat("a.", 127),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got, err := ens.Normalize(name)
		if err != nil {
			told, ok := errors.AsType[*ens.NameError](err)
			in := expect.In(t, "%q is refused", name)
			require.Equal(in, got, "", err)
			require.True(in, ok, err)
			require.NotEqual(in, told.Problem, "")
			require.False(in, strings.Contains(told.Problem, name) && len(name) > 20)
			return
		}
		in := expect.In(t, "%q", name)
		require.Equal(in, got, strings.ToLower(name))
		require.AtMost(in, len(got), ens.MaxName, got)
		require.Equal(in, strings.Trim(got, "abcdefghijklmnopqrstuvwxyz0123456789-_$."), "")
		if again, err := ens.Normalize(got); err != nil || again != got {
			t.Fatalf("%q became %q, and then %q, %v", name, got, again, err)
		}
	})
}
