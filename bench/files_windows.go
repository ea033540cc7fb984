package main

// raiseFileLimit does nothing: Windows has no limit to raise.
func raiseFileLimit() {}

// files returns how many files the benchmarks may open.
func files() int { return 1 << 14 }
