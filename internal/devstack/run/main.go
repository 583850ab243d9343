// Command run starts PostgreSQL and Temporal for tests, runs a command with their addresses in
// TEST_DATABASE_URL and TEST_TEMPORAL_ADDRESS, and stops the servers afterwards:
//
//	go run ./internal/devstack/run -- go test -race ./...
//
// It exits with the command's exit code. Servers that the environment already names are used
// instead.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/chainaccess/gateway/internal/devstack"
)

// The same names as in package testkit, which only tests may import.
const (
	databaseVariable = "TEST_DATABASE_URL"
	temporalVariable = "TEST_TEMPORAL_ADDRESS"
)

func main() {
	args := os.Args[1:]
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "usage: go run ./internal/devstack/run -- command [argument …]")
		os.Exit(2)
	}
	code, err := run(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// run returns the exit code of the command.
func run(args []string) (code int, err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	stack, err := devstack.Start(ctx, devstack.Options{
		Temporary:       true,
		InMemory:        true,
		Services:        []devstack.Service{devstack.PostgreSQL, devstack.Temporal},
		DatabaseURL:     os.Getenv(databaseVariable),
		TemporalAddress: os.Getenv(temporalVariable),
		Progress:        func(msg string) { fmt.Fprintln(os.Stderr, msg) },
	})
	if err != nil {
		return 1, err
	}
	defer func() {
		closeCtx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		err = errors.Join(err, stack.Close(closeCtx))
	}()

	cmd := exec.CommandContext(ctx, args[0], args[1:]...) //nolint:gosec // running the given command is the purpose
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), databaseVariable+"="+stack.DatabaseURL, temporalVariable+"="+stack.TemporalAddress)
	// The terminal sends Ctrl-C to the command as well, which gets time to exit by itself.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), nil // the command has reported what went wrong
	}
	return 0, err
}
