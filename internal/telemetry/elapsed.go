package telemetry

import "time"

var began = time.Now()

// Elapsed returns the time since the program began, by a clock that no step of the machine's clock
// moves. It is for measuring, not for dates.
func Elapsed() time.Duration { return time.Since(began) }
