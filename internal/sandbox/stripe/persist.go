package stripe

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// load reads the saved state. Like Stripe, it keeps events and undelivered webhooks.
func (s *Server) load() error {
	if s.o.File == "" {
		return nil
	}
	text, err := os.ReadFile(s.o.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(text, &s.state)
	}
	if err != nil {
		return fmt.Errorf("the sandbox's Stripe cannot read %s: remove it to begin anew: %w", s.o.File, err)
	}
	if s.Replies == nil {
		s.Replies = map[string]reply{}
	}
	if s.state.Now.After(s.now) {
		s.now = s.state.Now
	}
	return nil
}

// save writes the state if it has changed. It logs a failure, and the next save retries.
func (s *Server) save() {
	if s.o.File == "" || !s.changed {
		return
	}
	s.state.Now = s.now
	s.Sequence++ // so that the next server generates other ids
	if err := s.write(); err != nil {
		s.o.Logger.Warn("the sandbox's Stripe could not keep its state", "err", err)
		return
	}
	s.changed = false
}

func (s *Server) keep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.save()
}

func (s *Server) write() error {
	text, err := marshal(&s.state)
	if err != nil {
		return err
	}
	temporary := s.o.File + ".new"
	if err := os.MkdirAll(filepath.Dir(s.o.File), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(temporary, text, 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, s.o.File)
}
