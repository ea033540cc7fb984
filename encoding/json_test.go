package encoding

import (
	"encoding/json"
	"testing"
)

func FuzzSkipAcceptsExactlyJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,-2.5e+3,"\u00e9",true,false,null,{}]}`, `[1,]`, `{"a"}`, `01`, `"\x"`, `{"a":1,}`, `[[]`, `-`, `1.`, `1e`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		d := NewDecoder(b)
		d.Skip()
		d.End()
		if bom := len(b) >= 3 && b[0] == 0xEF; !bom && json.Valid(b) != (d.Err() == nil) {
			t.Fatalf("%q: %v, encoding/json says %t", b, d.Err(), json.Valid(b))
		}
	})
}
