// Package archtest holds the tests that keep the project's shape: the layers of ARCHITECTURE.md,
// the words its packages may be called, and the files it is run with. It has no code of its own.
package archtest
