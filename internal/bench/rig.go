package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/chainaccess/gateway/internal/devstack"
	"github.com/chainaccess/gateway/internal/devstack/process"
)

// rig holds everything that is measured or used to measure: nodes, nginx, and the gateway with its
// Redis and PostgreSQL. Each is started on first use. Only one gateway runs at a time, so that none
// disturbs another.
type rig struct {
	progress io.Writer
	dir      string
	stack    *devstack.Stack
	keys     map[string][]string // by plan
	program  string              // path of the gateway's program, once it is built
	node     *nodeProcess        // the upstream of the loads
	proxy    *process.Process
	nginx    string // its base URL
	gateway  *gateway
}

func (r *rig) sayf(format string, args ...any) { fmt.Fprintf(r.progress, format+"\n", args...) }

// servers starts the servers that every gateway needs, and builds the gateway.
func (r *rig) servers(ctx context.Context) error {
	if r.program != "" {
		return nil
	}
	if r.dir == "" {
		dir, err := os.MkdirTemp("", "gateway-bench-")
		if err != nil {
			return err
		}
		r.dir = dir
	}
	if r.stack == nil {
		stack, err := devstack.Start(ctx, devstack.Options{
			Temporary: true, Services: []devstack.Service{devstack.PostgreSQL, devstack.Redis},
			Progress: func(msg string) { r.sayf("%s", msg) },
		})
		if err != nil {
			return err
		}
		r.stack = stack
	}
	return r.buildGateway(ctx)
}

// besides starts nginx, and the node behind it and behind the gateway of the loads.
func (r *rig) besides(ctx context.Context) error {
	if r.nginx != "" {
		return nil
	}
	for _, program := range []string{"wrk", "nginx"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("%s was not found: run scripts/bootstrap bench", program)
		}
	}
	node, err := r.startNode(ctx, "node")
	if err != nil {
		return err
	}
	r.node = node
	return r.startNginx(ctx, node.address)
}

// nodeProcess is a node that runs in its own process.
type nodeProcess struct {
	*process.Process

	name, address string
}

func (r *rig) startNode(ctx context.Context, name string) (*nodeProcess, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	p, err := r.start("node-"+name, self, nil, nodeCommand, address)
	if err != nil {
		return nil, err
	}
	n := &nodeProcess{Process: p, name: name, address: address}
	if err := await(ctx, p, "http://"+address, http.StatusOK); err != nil {
		return nil, errors.Join(err, p.Kill())
	}
	return n, nil
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

func (r *rig) startNginx(ctx context.Context, node string) error {
	program, err := exec.LookPath("nginx")
	if err != nil {
		return err
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	conf := filepath.Join(r.dir, "nginx.conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, nginxConf, r.dir, node, address), 0o600); err != nil {
		return err
	}
	if r.proxy, err = r.start("nginx", program, nil, "-c", conf); err != nil {
		return err
	}
	if err := await(ctx, r.proxy, "http://"+address, http.StatusOK); err != nil {
		return err
	}
	r.nginx = "http://" + address
	return nil
}

// start runs a program that is terminated when this one ends for any reason. It gets SIGTERM,
// because a killed nginx would leave its workers behind.
func (r *rig) start(name, program string, env []string, args ...string) (*process.Process, error) {
	return process.Start(process.Spec{
		Name: name, Path: program, Args: args, Env: env, LogFile: filepath.Join(r.dir, name+".log"),
		Stop: []syscall.Signal{syscall.SIGTERM}, ParentDeath: syscall.SIGTERM,
	})
}

// close stops everything and removes its files.
func (r *rig) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	err := r.stopGateway(ctx)
	if r.proxy != nil {
		err = errors.Join(err, r.proxy.Stop(ctx))
	}
	if r.node != nil {
		err = errors.Join(err, r.node.Stop(ctx))
	}
	if r.stack != nil {
		err = errors.Join(err, r.stack.Close(ctx))
	}
	if r.dir != "" {
		err = errors.Join(err, os.RemoveAll(r.dir))
	}
	return err
}

func freeAddress(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String(), nil
}

// await waits until url answers with status; it fails when the program exits first.
func await(ctx context.Context, p *process.Process, url string, status int) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
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
		case <-p.Exited():
			return fmt.Errorf("%s ended by itself: %s", p.Name(), p.Tail(5))
		case <-ctx.Done():
			return fmt.Errorf("%s did not answer with %d in time: %s", p.Name(), status, p.Tail(5))
		case <-tick.C:
		}
	}
}

// pause sleeps for d or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
