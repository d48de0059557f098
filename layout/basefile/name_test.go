package basefile

import (
	"regexp"
	"testing"
)

func TestParseName(t *testing.T) {
	const s = "167a0e3e-9b94-444f-a178-242230cdb5a2-0_0-28-26_20211221030120532.parquet"
	n, err := ParseName(s)
	if err != nil {
		t.Fatal(err)
	}
	want := Name{FileID: "167a0e3e-9b94-444f-a178-242230cdb5a2-0", WriteToken: "0-28-26", Instant: "20211221030120532"}
	if n != want || n.String() != s {
		t.Errorf("got %+v, %s", n, n)
	}
	for _, bad := range []string{"", ".parquet", "a.parquet", "a_b.parquet", "a_b_c.orc", "a_b_c_d.parquet", "_b_c.parquet", "a__c.parquet",
		"a_b_.parquet", ".a_b_c.parquet", "p/a_b_c.parquet", "part-00000-1c5a8d32-c000.snappy.parquet"} {
		if n, err := ParseName(bad); err == nil {
			t.Errorf("%q was taken as %+v", bad, n)
		}
	}
}

func TestNewFileID(t *testing.T) {
	a, b := NewFileID(), NewFileID()
	if a == b || !regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-0$`).MatchString(a) {
		t.Errorf("%s, %s", a, b)
	}
}
