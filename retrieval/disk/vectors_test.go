package disk

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func numberKey(i int) Key { return KeyOf("m", fmt.Sprint(i)) }

func openVectors(t *testing.T, path string) *Vectors {
	t.Helper()
	c, err := OpenVectors(path)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// putVectors adds the vectors of the numbers from a to b.
func putVectors(t *testing.T, c *Vectors, a, b int) {
	t.Helper()
	var keys []Key
	var vectors [][]float32
	for i := a; i < b; i++ {
		keys, vectors = append(keys, numberKey(i)), append(vectors, []float32{float32(i), 1, 2})
	}
	if err := c.Put(keys, vectors); err != nil {
		t.Fatal(err)
	}
}

func checkHas(t *testing.T, c *Vectors, a, b int) {
	t.Helper()
	for i := a; i < b; i++ {
		if v := c.Get([]Key{numberKey(i)})[0]; len(v) != 3 || v[0] != float32(i) {
			t.Fatalf("vector %d is %v", i, v)
		}
	}
}

func TestVectorsOutliveTheProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "vectors.bin")
	c := openVectors(t, path)
	putVectors(t, c, 0, 10)
	putVectors(t, c, 10, 2000)
	checkHas(t, c, 0, 2000)
	c = openVectors(t, path)
	checkHas(t, c, 0, 2000)
	if c.Has(numberKey(2000)) || c.Get([]Key{numberKey(2000)})[0] != nil || len(c.offsets) != 2000 {
		t.Error("the cache has a vector that was never put")
	}
}

// Earlier releases wrote a whole SHA-256 where a Key is half of one now.
func TestVectorsWithWholeHashesAreRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vectors.bin")
	data := vectorHeader(2)
	start := len(data)
	sum := sha256.Sum256([]byte("1\nmtext"))
	data = append(data, sum[:]...)
	for _, x := range []float32{3, 4} {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	data = binary.LittleEndian.AppendUint32(data, crc32.Checksum(data[start:], castagnoli))
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := openVectors(t, path).Get([]Key{KeyOf("m", "text")})[0]; !slices.Equal(got, []float32{3, 4}) {
		t.Errorf("the vector is %v", got)
	}
}

func TestDamagedVectorsAreLeftOut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vectors.bin")
	putVectors(t, openVectors(t, path), 0, 100)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1                                                // a flipped bit
	if err := os.WriteFile(path, data[:len(data)-7], 0o600); err != nil { // a crash during a write
		t.Fatal(err)
	}
	c := openVectors(t, path)
	if len(c.offsets) != 98 {
		t.Errorf("%d vectors, want all except the damaged and the incomplete one", len(c.offsets))
	}
	putVectors(t, c, 99, 110)
	checkHas(t, c, 99, 110)
	checkHas(t, openVectors(t, path), 99, 110)

	if err := os.WriteFile(path, []byte("a file of another kind, longer than a header"), 0o600); err != nil {
		t.Fatal(err)
	}
	c = openVectors(t, path)
	putVectors(t, c, 0, 3)
	checkHas(t, openVectors(t, path), 0, 3)
}

func TestCompactionKeepsLiveVectors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vectors.bin")
	c, other := openVectors(t, path), openVectors(t, path)
	putVectors(t, c, 0, 2000)
	putVectors(t, other, 2000, 2010) // as during a reload
	live := map[Key]bool{}
	for i := 1990; i < 2010; i++ {
		live[numberKey(i)] = true
	}
	if err := c.Compact(live); err != nil {
		t.Fatal(err)
	}
	checkHas(t, c, 1990, 2010)
	if info, err := os.Stat(path); err != nil || info.Size() > 2000 || len(c.offsets) != 20 {
		t.Errorf("%d vectors in %d bytes", len(c.offsets), info.Size())
	}
	if other.Get([]Key{numberKey(2000)})[0] != nil {
		t.Error("a vector is read from another one's place")
	}
	putVectors(t, other, 3000, 3005)
	checkHas(t, other, 3000, 3005)
	checkHas(t, openVectors(t, path), 1990, 2010)
	checkHas(t, openVectors(t, path), 3000, 3005)
}

func TestVectorsOfAnotherLengthReplaceTheOldOnes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vectors.bin")
	c := openVectors(t, path)
	putVectors(t, c, 0, 10)
	if err := c.Put([]Key{numberKey(1)}, [][]float32{{1, 2, 3, 4}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []*Vectors{c, openVectors(t, path)} {
		if c.Has(numberKey(2)) || len(c.Get([]Key{numberKey(1)})[0]) != 4 {
			t.Errorf("%d vectors", len(c.offsets))
		}
	}
	for _, bad := range [][][]float32{{{1}, {1, 2}}, {{}}, {{1}, {2}, {3}}, {{1, 2}, {0, 0}}} {
		if err := c.Put([]Key{numberKey(1), numberKey(2)}[:min(2, len(bad))], bad); err == nil {
			t.Errorf("%v was accepted", bad)
		}
	}
}

func TestVectorsOfZerosAreMadeAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vectors.bin")
	c := openVectors(t, path)
	if err := c.Put([]Key{numberKey(0), numberKey(1)}, [][]float32{{1, 0}, {0, 2}}); err != nil {
		t.Fatal(err)
	}
	if err := c.write([]Key{numberKey(2)}, [][]float32{{0, 0}}); err != nil { // as earlier releases did
		t.Fatal(err)
	}
	c = openVectors(t, path)
	if !c.Has(numberKey(0)) || !c.Has(numberKey(1)) || c.Has(numberKey(2)) {
		t.Errorf("it has %d vectors, not the two", len(c.offsets))
	}
}

func TestVectorsThatCannotBeWrittenStayInMemory(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := OpenVectors(filepath.Join(dir, "file", "vectors.bin"))
	if err == nil {
		t.Fatal("opened below a file")
	}
	if err := c.Put([]Key{numberKey(1)}, [][]float32{{1}}); err == nil {
		t.Error("no error though nothing was written")
	}
	if v := c.Get([]Key{numberKey(1)})[0]; len(v) != 1 {
		t.Errorf("vector %v", v)
	}
}

func TestVectorsOutliveAFileThatCannotBeOpened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vectors.bin")
	c := openVectors(t, path)
	putVectors(t, c, 0, 3)
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, path); err != nil {
		t.Skip(err)
	}
	if v := c.Get([]Key{numberKey(1)}); v[0] != nil {
		t.Errorf("%v", v)
	}
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	checkHas(t, c, 0, 3)
}
