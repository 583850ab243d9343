package oascheck

import (
	"context"
	"fmt"
	"io"
	"net/http"
)

// Client returns a client of the server at base that checks answers against base/openapi.json.
// undefined is as for Load.
func Client(ctx context.Context, base, undefined string, report func(error)) (*http.Client, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/openapi.json", http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("fetch the document: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("fetch the document: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("fetch the document: %w", err)
	}
	d, err := Load(text, undefined)
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: d.Transport(http.DefaultTransport, report)}, nil
}
