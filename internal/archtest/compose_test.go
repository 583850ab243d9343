package archtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/chainaccess/gateway/internal/devstack"
	"github.com/chainaccess/gateway/internal/testkit/expect"
)

// service holds the fields of a Compose service that the tests read.
type service struct {
	Image       string            `yaml:"image"`
	Build       string            `yaml:"build"`
	Command     []string          `yaml:"command"`
	Environment map[string]string `yaml:"environment"`
	EnvFile     []string          `yaml:"env_file"`
	Ports       []string          `yaml:"ports"`
	Volumes     []string          `yaml:"volumes"`
	DependsOn   any               `yaml:"depends_on"`
	Healthcheck struct {
		Test []string `yaml:"test"`
	} `yaml:"healthcheck"`
	ReadOnly    bool     `yaml:"read_only"`
	User        string   `yaml:"user"`
	CapDrop     []string `yaml:"cap_drop"`
	SecurityOpt []string `yaml:"security_opt"`
	Networks    []string `yaml:"networks"`
}

type composeFile struct {
	Services map[string]service `yaml:"services"`
	Volumes  map[string]any     `yaml:"volumes"`
	Networks map[string]struct {
		Internal bool `yaml:"internal"`
	} `yaml:"networks"`
}

func compose(t *testing.T) composeFile {
	t.Helper()
	var file composeFile
	if err := yaml.Unmarshal([]byte(read(t, "docker-compose.yml")), &file); err != nil {
		t.Fatal(err)
	}
	return file
}

// read returns a file of the repository.
func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// dependencies maps each service that s depends on to the condition that s waits for.
func dependencies(s service) map[string]string {
	on := make(map[string]string)
	switch list := s.DependsOn.(type) {
	case []any:
		for _, name := range list {
			if text, ok := name.(string); ok {
				on[text] = "service_started"
			}
		}
	case map[string]any:
		for name, detail := range list {
			on[name] = "service_started"
			if fields, ok := detail.(map[string]any); ok {
				if condition, ok := fields["condition"].(string); ok {
					on[name] = condition
				}
			}
		}
	}
	return on
}

func TestCompose_RunsTheProductionShape(t *testing.T) {
	t.Parallel()
	services := compose(t).Services
	for name, command := range map[string]string{"api": "serve", "worker": "worker", "migrate": "migrate up"} {
		t.Run(name, func(t *testing.T) {
			s := services[name]
			if got := strings.Join(s.Command, " "); got != command {
				t.Errorf("%s runs %q, want %q", name, got, command)
			}
			needs := []string{"DATABASE_URL"}
			if name != "migrate" {
				needs = append(needs, "REDIS_URL", "TEMPORAL_ADDRESS", "KEY_PEPPER", "UPSTREAMS_FILE")
			}
			in := expect.In(t, "%s", name)
			expect.NotEqual(in, s.Build, "")
			expect.True(in, s.ReadOnly)
			expect.NotEqual(in, slices.Contains(s.EnvFile, ".env"), name == "migrate")
			for _, variable := range needs {
				if s.Environment[variable] == "" {
					t.Errorf("%s lacks %s", name, variable)
				}
			}
		})
	}
	for _, name := range []string{"postgres", "redis", "temporal", "temporal-ui", "mail", "prometheus", "grafana"} {
		if _, ok := services[name]; !ok {
			t.Errorf("there is no service %s", name)
		}
	}
	for name, s := range services {
		once := slices.ContainsFunc([]string{"migrate", "temporal-schema", "temporal-namespace"}, func(n string) bool {
			return n == name
		})
		if !once && len(s.Healthcheck.Test) == 0 {
			t.Errorf("%s has no health check", name)
		}
	}
}

func TestCompose_RedisLosesAndEvictsNothing(t *testing.T) {
	t.Parallel()
	redis := compose(t).Services["redis"]
	command := strings.Join(redis.Command, " ")
	for _, want := range []string{
		"--appendonly yes", "--maxmemory-policy noeviction", "--maxmemory ${REDIS_MAXMEMORY:-",
	} {
		if !strings.Contains(command, want) {
			t.Errorf("redis runs %q, want %q in it", command, want)
		}
	}
	if !slices.ContainsFunc(redis.Volumes, func(v string) bool { return strings.HasSuffix(v, ":/data") }) {
		t.Errorf("redis keeps its file in %v, want a volume", redis.Volumes)
	}
}

func TestCompose_KeepsStoredAnswersApartFromTheMeter(t *testing.T) {
	t.Parallel()
	services := compose(t).Services
	command := strings.Join(services["redis-cache"].Command, " ")
	for _, want := range []string{"--appendonly no", "--maxmemory ", "--maxmemory-policy allkeys-lru"} {
		if !strings.Contains(command, want) {
			t.Errorf("redis-cache runs %q, want %q in it", command, want)
		}
	}
	if got := services["api"].Environment["CACHE_REDIS_URL"]; !strings.HasSuffix(got, "@redis-cache:6379/0") {
		t.Errorf("the API keeps answers in %q", got)
	}
	for _, name := range []string{"api", "worker"} {
		if _, waits := dependencies(services[name])["redis-cache"]; waits {
			t.Errorf("%s waits for the cache, which it can do without", name)
		}
	}
}

func TestCompose_StartsServicesInOrder(t *testing.T) {
	t.Parallel()
	services := compose(t).Services
	for _, c := range []struct{ name, on, condition string }{
		{"migrate", "postgres", "service_healthy"},
		{"api", "migrate", "service_completed_successfully"},
		{"api", "redis", "service_healthy"},
		{"worker", "migrate", "service_completed_successfully"},
		{"worker", "redis", "service_healthy"},
		{"worker", "temporal-namespace", "service_completed_successfully"},
		{"temporal-namespace", "temporal", "service_healthy"},
		{"temporal", "temporal-schema", "service_completed_successfully"},
		{"temporal-schema", "postgres", "service_healthy"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := dependencies(services[c.name])[c.on]; got != c.condition {
				t.Errorf("%s waits for %s until %q, want %q", c.name, c.on, got, c.condition)
			}
		})
	}
	for name, s := range services {
		for on, condition := range dependencies(s) {
			other, ok := services[on]
			if !ok {
				t.Errorf("%s depends on %s, which is no service", name, on)
			}
			if condition == "service_healthy" && len(other.Healthcheck.Test) == 0 {
				t.Errorf("%s waits until %s is healthy, which has no health check", name, on)
			}
		}
	}
	if _, waits := dependencies(services["api"])["temporal"]; waits {
		t.Error("the API waits for Temporal, which the hot path does not need")
	}
}

var pinned = regexp.MustCompile(`:v?\d+\.\d+\.?[\w.-]*@sha256:[0-9a-f]{64}$`)

func TestCompose_PinsImages(t *testing.T) {
	t.Parallel()
	for name, s := range compose(t).Services {
		if s.Build == "" && !pinned.MatchString(s.Image) {
			t.Errorf("%s runs %q, want an image with a version and a digest", name, s.Image)
		}
	}
	for _, from := range regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllStringSubmatch(read(t, "Dockerfile"), -1) {
		if !regexp.MustCompile(`@sha256:[0-9a-f]{64}$`).MatchString(from[1]) {
			t.Errorf("the Dockerfile builds from %s, want a digest", from[1])
		}
	}
	goVersion := regexp.MustCompile(`(?m)^go (\S+)$`).FindStringSubmatch(read(t, "go.mod"))
	if goVersion == nil || !strings.Contains(read(t, "Dockerfile"), "FROM golang:"+goVersion[1]+"-") {
		t.Errorf("the Dockerfile does not build with the Go of go.mod: %v", goVersion)
	}
}

func TestCompose_PublishesOnlyTheAPI(t *testing.T) {
	t.Parallel()
	for name, s := range compose(t).Services {
		for _, port := range s.Ports {
			if name != "api" && !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("%s publishes %s to the network", name, port)
			}
		}
	}
	for _, name := range []string{"postgres", "redis", "temporal", "worker"} {
		if ports := compose(t).Services[name].Ports; len(ports) > 0 {
			t.Errorf("%s publishes %v", name, ports)
		}
	}
}

var (
	secretName     = regexp.MustCompile(`PASSWORD|PWD|PEPPER|SECRET|TOKEN|API_KEY`)
	required       = regexp.MustCompile(`^\$\{(\w+):\?[^}]+\}$`)
	urlCredentials = regexp.MustCompile(`://[^/@\s]*:([^@\s]*)@`)
	variable       = regexp.MustCompile(`\$\{(\w+)`)
)

func TestCompose_HoldsNoSecrets(t *testing.T) {
	t.Parallel()
	for name, s := range compose(t).Services {
		for key, value := range s.Environment {
			if secretName.MatchString(key) && value != "" && !required.MatchString(value) {
				t.Errorf("%s sets %s in plain text, or starts without it", name, key)
			}
			if found := urlCredentials.FindStringSubmatch(value); found != nil && !required.MatchString(found[1]) {
				t.Errorf("%s holds a password in %s", name, key)
			}
		}
	}
	example := read(t, ".env.example")
	for _, found := range variable.FindAllStringSubmatch(read(t, "docker-compose.yml"), -1) {
		if secretName.MatchString(found[1]) && !regexp.MustCompile(`(?m)^#? ?`+found[1]+`=`).MatchString(example) {
			t.Errorf(".env.example does not name %s, which the compose file requires", found[1])
		}
	}
}

func TestCompose_FindsItsFilesAndVolumes(t *testing.T) {
	t.Parallel()
	file := compose(t)
	defaults := regexp.MustCompile(`\$\{\w+:-([^}]*)\}`)
	for name, s := range file.Services {
		for _, volume := range s.Volumes {
			source, _, _ := strings.Cut(defaults.ReplaceAllString(volume, "$1"), ":")
			if strings.HasPrefix(source, ".") {
				if _, err := os.Stat(filepath.Join(root(t), filepath.FromSlash(source))); err != nil {
					t.Errorf("%s mounts %s: %v", name, source, err)
				}
			} else if _, ok := file.Volumes[source]; !ok {
				t.Errorf("%s mounts the volume %s, which is not declared", name, source)
			}
		}
	}
	for _, script := range []string{"schema.sh", "namespace.sh", "dynamicconfig.yaml"} {
		if read(t, "deploy/temporal/"+script) == "" {
			t.Errorf("%s is empty", script)
		}
	}
}

func TestTemporal_HasTheSameSearchAttributesEverywhere(t *testing.T) {
	t.Parallel()
	want := "for name in " + strings.Join(devstack.SearchAttributes(), " ") + "; do"
	if !strings.Contains(read(t, "deploy/temporal/namespace.sh"), want) {
		t.Errorf("deploy/temporal/namespace.sh does not make the search attributes of the development stack: want %q",
			want)
	}
}

// TestCompose_IsAcceptedByDocker validates the file with Docker where it is installed; the tests
// above run everywhere.
func TestCompose_IsAcceptedByDocker(t *testing.T) {
	t.Parallel()
	if exec.CommandContext(t.Context(), "docker", "compose", "version").Run() != nil {
		t.Log("there is no docker compose on this machine")
		return
	}
	dir := t.TempDir()
	for from, to := range map[string]string{"docker-compose.yml": "docker-compose.yml", ".env.example": ".env"} {
		if err := os.WriteFile(filepath.Join(dir, to), []byte(read(t, from)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "docker", "compose", "--project-directory", dir, "config", "--quiet")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "KEY_PEPPER=x", "POSTGRES_PASSWORD=x", "REDIS_PASSWORD=x", "CACHE_REDIS_PASSWORD=x",
		"GRAFANA_PASSWORD=x", "OPERATORS_PASSWORD=x", "MAIL_PASSWORD=x")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("docker compose config: %v: %s", err, out)
	}
}
