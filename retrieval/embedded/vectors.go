package embedded

// matrix holds the sections' vectors, each of length 1, in one piece.
type matrix struct {
	dim     int
	section []uint32
	values  []float32
}
