package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
)

// profileDuring fetches a CPU profile of the gateway during a load, if requested.
func (r *rig) profileDuring(ctx context.Context, o options, l load, now bool) <-chan error {
	done := make(chan error, 1)
	if o.profile == "" || !now {
		done <- nil
		return done
	}
	go func() {
		path := o.profile + "." + l.name
		cpu := fmt.Sprintf("%s/profile?seconds=%d", r.gateway.pprof, int(o.duration.Seconds())-1)
		done <- errors.Join(download(ctx, cpu, path), download(ctx, r.gateway.pprof+"/allocs", path+".allocs"))
	}()
	return done
}

func download(ctx context.Context, url, path string) error {
	//nolint:gosec // of the gateway that the bench started
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req) //nolint:gosec // see above
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	file, err := os.Create(path) //nolint:gosec // the user chose the path
	if err != nil {
		return err
	}
	if _, err := io.Copy(file, resp.Body); err != nil {
		return errors.Join(fmt.Errorf("profile: %w", err), file.Close())
	}
	return file.Close()
}
