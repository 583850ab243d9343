package telemetry

import "time"

var began = time.Now()

// Elapsed returns the time since the program began, by the monotonic clock. It is for measuring
// durations.
func Elapsed() time.Duration { return time.Since(began) }
