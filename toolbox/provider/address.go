package provider

import "strings"

// span is a range of bytes in a text.
type span struct{ from, to int }

// parts are the parts of an address. They are not validated: placeholders may be anywhere.
type parts struct {
	scheme, user, host, port string
	path                     []string
	query                    [][2]string
}

// split splits an address into its parts. It does not use net/url, which rejects placeholders.
func split(raw string) parts {
	var p parts
	scheme, rest, _ := strings.Cut(raw, "://")
	switch p.scheme = strings.ToLower(scheme); p.scheme {
	case "https", "http", "wss", "ws":
	default:
		p.scheme, rest = "", raw
	}
	rest, _, _ = strings.Cut(rest, "#")
	rest, query, _ := strings.Cut(rest, "?")
	authority, path, _ := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		p.user, authority = authority[:at], authority[at+1:]
	}
	p.host = authority
	if host, port, ok := strings.Cut(authority, ":"); ok && digits(port) {
		p.host, p.port = host, port
	}
	p.host = strings.TrimSuffix(strings.ToLower(p.host), ".")
	for segment := range strings.SplitSeq(path, "/") {
		if segment != "" {
			p.path = append(p.path, segment)
		}
	}
	for pair := range strings.SplitSeq(query, "&") {
		if name, value, _ := strings.Cut(pair, "="); name != "" {
			p.query = append(p.query, [2]string{name, value})
		}
	}
	return p
}

func digits(s string) bool {
	return s != "" && len(s) <= 5 && strings.Trim(s, "0123456789") == ""
}

// plainWords are the words, besides networks, that may be shown from paths, hosts and query names:
// they belong to providers' formats and reveal nothing about their user.
var plainWords = words(
	`v1 v2 v3 ws wss http https rpc api jsonrpc json-rpc ogrpc ogws premium-http premium-ws mainnet archive public full node nodes eth evm solana bc c ext
	www lb go site1 site2 nd discover core g speedy-nodes-nyc main gateway endpoints developer-access-mainnet mainnet-preconf noreverts fast fullprivacy
	network dkey api-key apikey api_key key token auth access_token app_id project_id chain chainid`)

func words(list string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		set[w] = true
	}
	return set
}

// masked replaces whatever may be secret.
const masked = "***"

// may returns a piece of an address if it is a plain word or names a network, and masks it
// otherwise.
func may(piece string) string {
	lower := strings.ToLower(piece)
	if _, known := named(lower); plainWords[lower] || known && isNetwork(lower) {
		return lower
	}
	return masked
}

// isNetwork reports whether a name consists only of words of networks: anything else in it may be
// secret.
func isNetwork(name string) bool {
	name = strings.ReplaceAll(name, "_", "-")
	if _, ok := networks[name]; ok {
		return true
	}
	for part := range strings.SplitSeq(name, "-") {
		if _, ok := networks[part]; !ok && !plainWords[part] && !networkWords[part] {
			return false
		}
	}
	return true
}

// networkWords are the words in names of networks that are not served.
var networkWords = func() map[string]bool {
	set := words("mainnet one smart chain bor pos rollup alpha beta")
	for _, w := range elsewhere {
		set[w] = true
	}
	return set
}()

// show formats an address with everything masked that is no plain word.
func (p *parts) show(f *form) string {
	var b strings.Builder
	if p.scheme != "" {
		b.WriteString(p.scheme + "://")
	}
	if p.user != "" {
		b.WriteString(masked + "@")
	}
	b.WriteString(p.showHost(f))
	if p.port != "" {
		b.WriteString(":" + p.port)
	}
	for _, segment := range p.path {
		b.WriteString("/" + may(segment))
	}
	for i, pair := range p.query {
		b.WriteByte("?&"[min(i, 1)])
		value := masked
		if strings.EqualFold(pair[0], "network") {
			value = may(pair[1])
		}
		b.WriteString(may(pair[0]) + "=" + value)
	}
	return b.String()
}

// showHost shows a known suffix, the last two labels of another host, and a private host as it is.
func (p *parts) showHost(f *form) string {
	labels := strings.Split(p.host, ".")
	shown := 0
	switch {
	case f != nil:
		shown = strings.Count(f.suffix, ".") + 1
	case p.host == "localhost" || private(p.host) && isIP(p.host): // a host of digits alone may be anything
		return p.host
	}
	for i := range labels[:len(labels)-shown] {
		name := labels[i]
		if f != nil {
			for _, around := range f.strip { // as in the form
				name = strings.TrimSuffix(strings.TrimPrefix(name, around), around)
			}
		}
		if may(name) == masked {
			labels[i] = masked
		}
	}
	return strings.Join(labels, ".")
}

// credential reports whether an address contains a credential, and whether it is only a
// placeholder.
func (p *parts) credential(f *form) (carried, keyless bool) {
	keyless = true
	note := func(value string) {
		carried = true
		keyless = keyless && isPlaceholder(value)
	}
	if p.user != "" {
		note(p.user)
	}
	for _, segment := range p.path {
		if may(segment) == masked && (f != nil && !f.public || keyLike(segment) || hasPlaceholder(segment)) {
			note(segment)
		}
	}
	for _, pair := range p.query {
		if name := strings.ToLower(pair[0]); name != "network" && pair[1] != "" &&
			(strings.Contains(name, "key") || strings.Contains(name, "token") || strings.Contains(name, "auth") ||
				strings.Contains(name, "secret") || keyLike(pair[1])) {
			note(pair[1])
		}
	}
	return carried, carried && keyless
}

// keyLike reports whether a word is long enough and has digits, like a key and unlike a name.
func keyLike(s string) bool {
	const least = 16
	return len(s) >= least && strings.ContainsAny(s, "0123456789")
}
