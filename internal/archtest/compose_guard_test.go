package archtest

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestCompose_ConfinesEveryService(t *testing.T) {
	t.Parallel()
	writes := []string{"temporal-ui"} // it writes its configuration next to its program
	for name, s := range compose(t).Services {
		if !s.ReadOnly && !slices.Contains(writes, name) {
			t.Errorf("%s may write into its root", name)
		}
		if !slices.Equal(s.CapDrop, []string{"ALL"}) || !slices.Contains(s.SecurityOpt, "no-new-privileges:true") {
			t.Errorf("%s keeps capabilities or may gain rights: drops %v, %v", name, s.CapDrop, s.SecurityOpt)
		}
		if uid, _, _ := strings.Cut(s.User, ":"); s.Build == "" && (uid == "" || uid == "0") {
			t.Errorf("%s runs as root or as whom its image says: user %q", name, s.User)
		}
	}
	if !strings.Contains(read(t, "Dockerfile"), "\nUSER nonroot\n") {
		t.Error("the gateway's image runs as root")
	}
}

func TestCompose_JoinsServicesOnlyByNetworksTheyNeed(t *testing.T) {
	t.Parallel()
	file := compose(t)
	want := map[string][]string{
		"public":          {"api"},
		"outbound":        {"worker"},
		"web":             {"grafana", "mail", "operators"},
		"record":          {"api", "migrate", "postgres", "worker"},
		"temporal-record": {"postgres", "temporal", "temporal-schema"},
		"meter":           {"api", "redis", "worker"},
		"cache":           {"api", "redis-cache"},
		"durable":         {"api", "temporal", "temporal-namespace", "worker"},
		"temporal-web":    {"temporal", "temporal-ui"},
		"mail":            {"mail", "worker"},
		"metrics":         {"api", "prometheus", "worker"},
		"dashboards":      {"grafana", "prometheus"},
		"operators":       {"operators", "prometheus", "temporal-ui"},
	}
	got := map[string][]string{}
	for name, s := range file.Services {
		if len(s.Networks) == 0 {
			t.Errorf("%s stands in the default network, with everything else that does", name)
		}
		for _, network := range s.Networks {
			got[network] = append(got[network], name)
		}
	}
	for network, declared := range file.Networks {
		slices.Sort(got[network])
		if !slices.Equal(got[network], want[network]) {
			t.Errorf("network %s joins %v, want %v", network, got[network], want[network])
		}
		if outer := slices.Contains([]string{"public", "outbound", "web"}, network); declared.Internal == outer {
			t.Errorf("network %s is internal: %v", network, declared.Internal)
		}
	}
	if len(file.Networks) != len(want) {
		t.Errorf("there are %d networks, want %d", len(file.Networks), len(want))
	}
}

// secretVariable matches the variables with a secret that secretName misses.
var secretVariable = regexp.MustCompile(`^(SMTP_URL|CACHE_REDIS_URL|DATABASE_URL|REDIS_URL)$|PASSWORD|PEPPER|SECRET`)

func TestCompose_GivesEachRoleItsOwnSecretsAlone(t *testing.T) {
	t.Parallel()
	roles := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([A-Z0-9_]+)` \\| [^|]* \\| ([^|]*) \\|").FindAllStringSubmatch(
		read(t, "docs/configuration.md"), -1) {
		roles[row[1]] = row[2]
	}
	services := compose(t).Services
	for service, role := range map[string]string{"api": "serve", "worker": "worker", "migrate": "migrate"} {
		t.Run(service, func(t *testing.T) {
			s := services[service]
			for _, line := range regexp.MustCompile(`(?m)^(?:# )?([A-Z0-9_]+)=`).FindAllStringSubmatch(
				read(t, ".env.example"), -1) {
				name := line[1]
				if !secretVariable.MatchString(name) || slices.Contains(strings.Split(roles[name], ", "), role) {
					continue
				}
				value, set := s.Environment[name]
				if fromFile := len(s.EnvFile) > 0; value != "" || (fromFile && !set) {
					t.Errorf("%s is given %s, which is not of the role %s: set it to nothing", service, name, role)
				}
			}
		})
	}
	if got := services["migrate"].Environment; len(got) != 1 {
		t.Errorf("migrate is given %d variables, want DATABASE_URL alone", len(got))
	}
}

func TestCompose_AsksForPasswordsEverywhere(t *testing.T) {
	t.Parallel()
	services := compose(t).Services
	for _, name := range []string{"redis", "redis-cache"} {
		if command := strings.Join(services[name].Command, " "); !strings.Contains(command, "requirepass") {
			t.Errorf("%s runs %q, which asks for no password", name, command)
		}
	}
	if services["redis"].Environment["REDISCLI_AUTH"] == services["redis-cache"].Environment["REDISCLI_AUTH"] {
		t.Error("both Redis have one password")
	}
	for _, c := range []struct{ service, variable, password string }{
		{"mail", "MP_UI_AUTH", "MAIL_PASSWORD"},
		{"grafana", "GF_SECURITY_ADMIN_PASSWORD", "GRAFANA_PASSWORD"},
		{"operators", "OPERATORS_PASSWORD", "OPERATORS_PASSWORD"},
		{"postgres", "POSTGRES_PASSWORD", "POSTGRES_PASSWORD"},
	} {
		t.Run(c.service, func(t *testing.T) {
			if got := services[c.service].Environment[c.variable]; !strings.Contains(got, "${"+c.password+":?") {
				t.Errorf("%s starts without %s: %q", c.service, c.password, got)
			}
		})
	}
	for _, name := range []string{"temporal-ui", "prometheus"} { // they need no passwords
		if ports := services[name].Ports; len(ports) > 0 {
			t.Errorf("%s publishes %v instead of standing behind operators", name, ports)
		}
	}
	front := read(t, "deploy/operators/nginx.conf")
	for _, want := range []string{
		"auth_basic_user_file /tmp/operators;", "set $to temporal-ui;", "set $to prometheus;",
	} {
		if !strings.Contains(front, want) {
			t.Errorf("the operators' proxy lacks %q", want)
		}
	}
	if strings.Contains(front, "auth_basic off") {
		t.Error("the operators' proxy lets somebody through without a password")
	}
}
