package devstack

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// finder looks up programs on the machine. Tests use one that finds nothing.
type finder struct {
	// look returns the path of a program in PATH; empty when there is none.
	look func(name string) string
	// postgresDirs are globs of directories that may hold PostgreSQL's programs.
	postgresDirs []string
}

// systemPrograms looks in PATH and in the directories outside PATH where the packages of Debian,
// Red Hat, Alpine and macOS install PostgreSQL.
func systemPrograms() finder {
	return finder{
		look: func(name string) string {
			path, err := exec.LookPath(name)
			if err != nil {
				return ""
			}
			return path
		},
		postgresDirs: []string{
			"/usr/lib/postgresql/*/bin",
			"/usr/pgsql-*/bin",
			"/usr/libexec/postgresql*",
			"/opt/homebrew/opt/postgresql*/bin",
			"/usr/local/opt/postgresql*/bin",
			"/Applications/Postgres.app/Contents/Versions/*/bin",
			"/usr/local/pgsql/bin",
		},
	}
}

// postgresPrograms is one installation of PostgreSQL.
type postgresPrograms struct {
	initdb, postgres string
	major            int // 0 when the path does not show it
}

var versionInPath = regexp.MustCompile(`\d+`)

// postgres lists the installations of PostgreSQL: the one in PATH first, then the others, newest
// first.
func (f finder) postgres() []postgresPrograms {
	var found []postgresPrograms
	for _, glob := range f.postgresDirs {
		dirs, err := filepath.Glob(glob)
		if err != nil {
			continue
		}
		for _, dir := range dirs {
			p := postgresPrograms{initdb: filepath.Join(dir, "initdb"), postgres: filepath.Join(dir, "postgres")}
			if !executable(p.initdb) || !executable(p.postgres) {
				continue
			}
			if v := versionInPath.FindString(dir); v != "" {
				p.major, _ = strconv.Atoi(v)
			}
			found = append(found, p)
		}
	}
	slices.SortStableFunc(found, func(a, b postgresPrograms) int { return cmp.Compare(b.major, a.major) })

	initdb, server := f.look("initdb"), f.look("postgres")
	if initdb != "" && server != "" {
		found = slices.Insert(found, 0, postgresPrograms{initdb: initdb, postgres: server})
	}
	return found
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// cacheDir returns where built programs are kept: .cache in the checkout that contains the working
// directory, so that they are removed with it, or the user's cache directory outside a checkout.
func cacheDir() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, ".cache"), nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			break
		}
		dir = parent
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(user, "chain-access-gateway"), nil
}
