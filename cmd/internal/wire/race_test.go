//go:build race

package wire_test

const lostToRaceDetector = 12
