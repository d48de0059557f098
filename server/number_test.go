package server

import (
	"testing"

	"github.com/dolthub/vitess/go/sqltypes"
	querypb "github.com/dolthub/vitess/go/vt/proto/query"
)

// The texts on the right are MySQL 8's.
func TestFloatsAreWrittenAsMySQLDoes(t *testing.T) {
	for in, want := range map[string]string{
		"0": "0", "-0.25": "-0.25", "1.5e+09": "1500000000", "1.2345675e+06": "1234567.5", "-1e+14": "-100000000000000",
		"1e+15": "1e15", "1.5e+20": "1.5e20", "-1.7976931348623157e+308": "-1.7976931348623157e308",
		"1e-05": "0.00001", "1.5e-09": "0.0000000015", "2.5e-20": "2.5e-20", "5e-324": "5e-324",
	} {
		if got := PlainNumber(sqltypes.MakeTrusted(querypb.Type_FLOAT64, []byte(in))).ToString(); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
	if got := PlainNumber(sqltypes.MakeTrusted(querypb.Type_FLOAT32, []byte("1.6777216e+07"))).ToString(); got != "16777216" {
		t.Errorf("float32: %s", got)
	}
	if got := PlainNumber(sqltypes.NewVarChar("1e+20")).ToString(); got != "1e+20" {
		t.Errorf("a text was changed: %s", got)
	}
}
