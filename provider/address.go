package provider

import (
	"regexp"
	"strings"

	"github.com/chainaccess/gateway/chain"
)

// span is a piece of a text, in bytes.
type span struct{ from, to int }

// placeholder is what stands for a value that comes from elsewhere: ${process.env.KEY}, {{key}}, {key}, <YOUR_KEY>, $KEY.
const placeholder = `\$?\{\{?[^{}\n"` + "`" + `]{0,200}\}?\}|<[A-Za-z0-9_ -]{1,60}>`

var (
	address    = regexp.MustCompile(`(?i)(?:https?|wss?)://(?:` + placeholder + `|[^\s"'` + "`" + `<>(){}\[\],;|\\])+`)
	stands     = regexp.MustCompile(`^(?:` + placeholder + `|\$[A-Za-z_][A-Za-z0-9_]*)$`)
	holds      = regexp.MustCompile(placeholder + `|\$[A-Za-z_]`)
	spelledOut = regexp.MustCompile(`(?i)^(?:your|my|the|replace|insert|enter|paste|add|put)?[-_ ]?(?:[a-z0-9]+[-_ ])*(?:api|project|access|auth)?[-_ ]?(?:key|token|id|secret|here|demo|public|docs-demo)(?:[-_ ]here)?$`)
)

// findURLs finds addresses from left to right.
func findURLs(text string) []span {
	var spans []span
	for _, found := range address.FindAllStringIndex(text, -1) {
		to := found[0] + len(strings.TrimRight(text[found[0]:found[1]], ".:!?*&="))
		spans = append(spans, span{found[0], to})
	}
	return spans
}

// parts are those of an address. None of them is checked: placeholders may stand anywhere.
type parts struct {
	scheme, user, host, port string
	path                     []string
	query                    [][2]string
}

// split takes an address apart. It is not net/url's, which refuses placeholders.
func split(raw string) parts {
	var p parts
	scheme, rest, _ := strings.Cut(raw, "://")
	p.scheme = strings.ToLower(scheme)
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

// plainWords are what may be shown of paths, hosts and names in queries besides networks: they are parts of forms and tell nothing of who uses them.
var plainWords = words(`v1 v2 v3 ws wss http https rpc api jsonrpc json-rpc ogrpc ogws premium-http premium-ws mainnet archive public full node nodes eth evm solana bc c ext
	www lb go site1 site2 nd discover core g speedy-nodes-nyc main gateway endpoints developer-access-mainnet mainnet-preconf noreverts fast fullprivacy
	network dkey api-key apikey api_key key token auth access_token app_id project_id chain chainid`)

func words(list string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		set[w] = true
	}
	return set
}

// masked stands for whatever may be secret.
const masked = "***"

// may shows a piece of an address if it is a word of a form or names a network, and masks it otherwise.
func may(piece string) string {
	lower := strings.ToLower(piece)
	if _, known := named(lower); plainWords[lower] || known && isNetwork(lower) {
		return lower
	}
	return masked
}

// isNetwork is whether a name consists of words of networks alone: what else is in it may be secret.
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

// networkWords are those of names of networks that are not served.
var networkWords = func() map[string]bool {
	set := words("mainnet one smart chain bor pos rollup alpha beta")
	for _, w := range elsewhere {
		set[w] = true
	}
	return set
}()

// show writes an address with everything masked that is no word of a form.
func (p *parts) show(f *form) string {
	var b strings.Builder
	b.WriteString(p.scheme + "://")
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

// showHost shows a known suffix, the last two labels of another host, and a machine of the caller's own as it is.
func (p *parts) showHost(f *form) string {
	labels := strings.Split(p.host, ".")
	shown := 0
	switch {
	case f != nil:
		shown = strings.Count(f.suffix, ".") + 1
	case p.host == "localhost" || private(p.host) && strings.Trim(p.host, "0123456789.") == "":
		return p.host
	}
	for i := range labels[:len(labels)-shown] {
		name := labels[i]
		if f != nil {
			for _, around := range f.strip { // as the form has it
				name = strings.TrimSuffix(strings.TrimPrefix(name, around), around)
			}
		}
		if may(name) == masked {
			labels[i] = masked
		}
	}
	return strings.Join(labels, ".")
}

// rpcWord tells addresses of nodes from others.
var rpcWord = regexp.MustCompile(`(?i)rpc`)

// readEndpoint reads an address; false when it is none of a node.
func readEndpoint(raw string) (e Endpoint, ok bool) {
	p := split(raw)
	if p.host == "" {
		return e, false
	}
	f, label := formOf(p.host)
	query := map[string]string{}
	for _, pair := range p.query {
		query[strings.ToLower(pair[0])] = pair[1]
	}
	e = Endpoint{Source: p.show(f), Provider: unknown, WebSocket: strings.HasPrefix(p.scheme, "ws")}
	e.KeyInURL, e.Keyless = p.credential(f)
	switch {
	case f != nil:
		e.Provider = f.Provider
		e.Chain, e.Network = f.network(label, p.path, query)
		ok = e.Chain != "" || e.Network != "" || e.KeyInURL || holds.MatchString(p.host)
	case private(p.host):
		e.Provider, ok = local, true
	default:
		e.Chain, e.Network = guess(&p)
		ok = e.Chain != "" && e.WebSocket || rpcWord.MatchString(p.host+"/"+strings.Join(p.path, "/"))
	}
	if e.Network != "" {
		e.Network = may(e.Network)
	}
	return e, ok
}

// guess looks for the name of a network in an address of an unknown form.
func guess(p *parts) (id chain.ID, name string) {
	for label := range strings.SplitSeq(p.host, ".") {
		for _, name := range append([]string{label}, strings.Split(label, "-")...) {
			if id, known := named(name); known && !digits(name) {
				return id, name
			}
		}
	}
	for _, name := range joined(p.path) {
		if id, known := named(name); known && !digits(name) {
			return id, name
		}
	}
	return "", ""
}

// credential tells whether an address carries one, and whether it is a placeholder's.
func (p *parts) credential(f *form) (carried, keyless bool) {
	keyless = true
	note := func(value string) {
		carried = true
		keyless = keyless && (stands.MatchString(value) || spelledOut.MatchString(value))
	}
	if p.user != "" {
		note(p.user)
	}
	for _, segment := range p.path {
		if may(segment) == masked && (f != nil && !f.public || keyLike(segment) || holds.MatchString(segment)) {
			note(segment)
		}
	}
	for _, pair := range p.query {
		if name := strings.ToLower(pair[0]); name != "network" && pair[1] != "" && (strings.Contains(name, "key") || strings.Contains(name, "token") || strings.Contains(name, "auth") ||
			strings.Contains(name, "secret") || keyLike(pair[1])) {
			note(pair[1])
		}
	}
	return carried, carried && keyless
}

// keyLike is whether a word is long and mixed enough to be a key rather than a name.
func keyLike(s string) bool {
	const least = 16
	return len(s) >= least && strings.ContainsAny(s, "0123456789")
}
