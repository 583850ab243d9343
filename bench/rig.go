package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/chainaccess/gateway/internal/devstack"
)

// rig is everything that is measured or measured with: an upstream, nginx, the gateway with its Redis and PostgreSQL.
type rig struct {
	dir      string
	stack    *devstack.Stack
	children []*exec.Cmd
	keys     map[string][]string // by plan
	nginx    string              // base URL
	gateway  string
	pprof    string
}

func startRig(ctx context.Context, progress io.Writer) (r *rig, err error) {
	for _, program := range []string{"wrk", "nginx"} {
		if _, err := exec.LookPath(program); err != nil {
			return nil, fmt.Errorf("%s was not found: run scripts/bootstrap bench", program)
		}
	}
	r = &rig{keys: map[string][]string{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close(ctx))
		}
	}()
	if r.dir, err = os.MkdirTemp("", "gateway-bench-"); err != nil {
		return r, err
	}
	r.stack, err = devstack.Start(ctx, devstack.Options{
		Temporary: true, Services: []devstack.Service{devstack.PostgreSQL, devstack.Redis},
		Progress: func(msg string) { fmt.Fprintln(progress, msg) },
	})
	if err != nil {
		return r, err
	}
	upstream, err := r.startUpstream(ctx)
	if err != nil {
		return r, fmt.Errorf("upstream: %w", err)
	}
	if err := r.startNginx(ctx, upstream); err != nil {
		return r, fmt.Errorf("nginx: %w", err)
	}
	if err := r.startGateway(ctx, upstream, progress); err != nil {
		return r, fmt.Errorf("gateway: %w", err)
	}
	return r, nil
}

func (r *rig) startUpstream(ctx context.Context) (address string, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, self, "upstream") //nolint:gosec // this program itself
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := r.start(cmd); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	return strings.TrimSpace(line), err
}

const nginxConf = `daemon off;
pid %[1]s/nginx.pid;
error_log %[1]s/nginx.log;
worker_processes 2;
events { worker_connections 4096; }
http {
  access_log off;
  client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
  keepalive_requests 1000000000;
  upstream node { server %[2]s; keepalive 64; keepalive_requests 1000000000; }
  server {
    listen %[3]s reuseport;
    location / { proxy_pass http://node; proxy_http_version 1.1; proxy_set_header Connection ""; }
  }
}
`

func (r *rig) startNginx(ctx context.Context, upstream string) error {
	address, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	conf := filepath.Join(r.dir, "nginx.conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, nginxConf, r.dir, upstream, address), 0o600); err != nil {
		return err
	}
	if err := r.start(exec.CommandContext(ctx, "nginx", "-c", conf)); err != nil { //nolint:gosec // a file of ours
		return err
	}
	r.nginx = "http://" + address
	return await(ctx, r.nginx, http.StatusBadRequest) // the upstream's word for an empty body
}

func (r *rig) start(cmd *exec.Cmd) error {
	if cmd.Stderr == nil {
		log, err := os.Create(filepath.Join(r.dir, filepath.Base(cmd.Path)+".stderr"))
		if err != nil {
			return err
		}
		defer func() { _ = log.Close() }()
		cmd.Stderr = log
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = stopWait
	if err := cmd.Start(); err != nil {
		return err
	}
	r.children = append(r.children, cmd)
	return nil
}

const stopWait = 5 * time.Second

func (r *rig) close(ctx context.Context) error {
	for _, c := range slices.Backward(r.children) {
		_ = c.Process.Signal(os.Interrupt)
	}
	for _, c := range r.children {
		done := time.AfterFunc(stopWait, func() { _ = c.Process.Kill() })
		_ = c.Wait() // it was told to stop
		done.Stop()
	}
	var err error
	if r.stack != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		err = r.stack.Close(ctx)
	}
	return errors.Join(err, os.RemoveAll(r.dir))
}

func freeAddress(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String(), nil
}

// await waits until url answers with status.
func await(ctx context.Context, url string, status int) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return err
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == status {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s did not answer with %d in time", url, status)
		case <-tick.C:
		}
	}
}
