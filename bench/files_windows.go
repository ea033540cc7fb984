package main

import "time"

// raiseFileLimit does nothing: Windows has no limit to raise.
func raiseFileLimit() {}

// files returns how many files the benchmarks may open.
func files() int { return 1 << 14 }

// cpuTime is 0: bench measures on Linux.
func cpuTime() time.Duration { return 0 }
