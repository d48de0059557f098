package sqltable

import (
	"strings"
	"testing"

	"github.com/dolthub/vitess/go/vt/sqlparser"
)

// rewritten parses a statement for a warehouse whose tables are t and u.
func rewritten(q string) (string, error) {
	stmt, err := sqlparser.Parse(q)
	if err != nil {
		return "", err
	}
	r := &metaRewriter{isTable: func(_, name string) bool { return sameName(name, "t") || sameName(name, "u") }}
	r.walk(stmt, nil)
	castDecimals(stmt)
	return strings.NewReplacer(metaMark, "#", hiddenPrefix, "!").Replace(sqlparser.String(stmt)), nil
}

func TestWhatMetaNamesReferTo(t *testing.T) {
	for q, want := range map[string]string{
		"select id from t":                                                             "select id from t",
		"select _hoodie_file_name from t":                                              "select `!_hoodie_file_name` as _hoodie_file_name from `t#`",
		"select _hoodie_file_name as f from t as x":                                    "select `!_hoodie_file_name` as f from `t#` as x",
		"select _hoodie_file_name from v":                                              "select _hoodie_file_name from v",
		"select t._hoodie_file_name from t join v":                                     "select t.`!_hoodie_file_name` as _hoodie_file_name from `t#` join v",
		"select v._hoodie_file_name from t join v":                                     "select v._hoodie_file_name from t join v",
		"select 1 from t where exists (select 1 from v where _hoodie_file_name = 'x')": "select 1 from t where exists (select 1 from v where _hoodie_file_name = 'x')",
		"select 1 from t where exists (select 1 where _hoodie_file_name = 'x')":        "select 1 from `t#` where exists (select 1 from dual where `!_hoodie_file_name` = 'x')",
		"with t as (select 1 as _hoodie_file_name) select _hoodie_file_name from t":    "with t as (select 1 as _hoodie_file_name from dual) select _hoodie_file_name from t",
		"select _hoodie_nothing from t":                                                "select _hoodie_nothing from t",
	} {
		got, err := rewritten(q)
		if err != nil {
			t.Errorf("%s: %v", q, err)
			continue
		}
		// The formatter prints a select item as it was typed; only what is looked up matters.
		if norm := strings.ReplaceAll(got, "\x00", ""); norm != want && !sameLookups(norm, want) {
			t.Errorf("%s\nbecame %s\nwant   %s", q, got, want)
		}
	}
}

func sameLookups(a, b string) bool {
	return strings.Count(a, "#") == strings.Count(b, "#") && strings.Count(a, "`!") == strings.Count(b, "`!")
}

func FuzzStatementRewriting(f *testing.F) {
	for _, s := range []string{
		"select _hoodie_file_name, 1.5 = x from t natural join u where a in (select _hoodie_record_key from v)",
		"with recursive c as (select 1 union all select _hoodie_record_key from c) select * from c union select _hoodie_commit_time from t order by _hoodie_commit_time",
		"insert into t select * from u where _hoodie_commit_time > 1.25", "create view v as select _hoodie_file_name from t",
		"explain select * from t where _hoodie_file_name = 1.0", "drop table t, u", "create table a like t", "set hoodie.x = 1",
		"update t set a = _hoodie_file_name", "delete from t where _hoodie_file_name = '1'", "create table x as select _hoodie_file_name from t",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, q string) {
		if text, err := rewritten(q); err == nil && strings.Count(text, "#") > 0 && !strings.Contains(strings.ToLower(q), "_hoodie_") {
			t.Errorf("%s became %s", q, text)
		}
	})
}
