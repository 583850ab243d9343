// Package archtest holds the tests that enforce the project's structure: the layers of
// ARCHITECTURE.md, names of packages, and the files that the project is deployed with. It has no
// code of its own.
package archtest
