package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	idleName        = "idle_connections_1000"
	idleConnections = 1000
)

var idleBar = bar{below, 64, 0}

// measureIdle opens connections, makes a call on each and keeps them open.
func measureIdle(ctx context.Context, r *rig, o options, report *report) error {
	s, err := r.inService(ctx, o, "idle")
	if err != nil {
		return err
	}
	defer s.end()
	open := make([]*idle, idleConnections)
	defer func() {
		for _, one := range open {
			if one != nil {
				_ = one.conn.Close() // nothing is in flight
			}
		}
	}()
	grown, err := grownBy(s.gateway, report, func() error {
		if err := eachIdle(ctx, o, open, func(i int) (err error) {
			if open[i], err = dialIdle(ctx, s.gateway.url); err != nil {
				return err
			}
			return open[i].call(ctx, s.client, i)
		}); err != nil {
			return err
		}
		return pause(ctx, settleFor)
	})
	if err != nil {
		return err
	}
	// A second call on each connection shows that all were kept open.
	if err := eachIdle(ctx, o, open, func(i int) error { return open[i].call(ctx, s.client, i) }); err != nil {
		return fmt.Errorf("a connection was not kept: %w", err)
	}
	report.add(result{idleName, residentKey, grown, 1, idleBar})
	return nil
}

func eachIdle(ctx context.Context, o options, open []*idle, do func(i int) error) error {
	var next atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for range o.connections {
		group.Go(func() error {
			for i := next.Add(1) - 1; i < int64(len(open)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				if err := do(int(i)); err != nil {
					return err
				}
			}
			return ctx.Err()
		})
	}
	return group.Wait()
}

// idle is a connection that is kept open.
type idle struct {
	conn   net.Conn
	reader *bufio.Reader
}

func dialIdle(ctx context.Context, url string) (*idle, error) {
	conn, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(ctx, "tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		return nil, err
	}
	return &idle{conn, bufio.NewReaderSize(conn, 1024)}, nil
}

func (i *idle) call(ctx context.Context, c *client, n int) error {
	req, err := c.request(ctx, n,
		fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"eth_getBalance","params":["0x%040x","latest"]}`, n))
	if err != nil {
		return err
	}
	status, _, err := i.send(req)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("HTTP %d", status)
	}
	return err
}

// send sends a request and reads its answer.
func (i *idle) send(req *http.Request) (status int, body []byte, err error) {
	if err := i.conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return 0, nil, err
	}
	if err := req.Write(i.conn); err != nil {
		return 0, nil, err
	}
	resp, err := http.ReadResponse(i.reader, req)
	if err != nil {
		return 0, nil, err
	}
	body, err = io.ReadAll(resp.Body)
	return resp.StatusCode, body, errors.Join(err, resp.Body.Close())
}
