package source

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/ecosystem"
)

var one = request{
	Trees:  []wantedTree{{Name: v1alpha1.TreeBase, Commit: strings.Repeat("a", 40)}},
	Wanted: map[string]int64{"package.json": 4},
}

const goodAnswer = `{"trees":[{"name":"Base","commit":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","tree":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",` +
	`"files":2,"root":[{"name":"package.json","type":"file","size":2},{"name":"src","type":"directory"}],"content":{"package.json":"e30="}}],"protected":[{"path":"a.test.js","id":"cccccccccccccccccccccccccccccccccccccccc"}]}`

func TestTheChildsAnswerIsChecked(t *testing.T) {
	if _, err := parseAnswer(one, []byte(goodAnswer)); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"another commit":                    {`"commit":"aa`, `"commit":"bb`},
		"another tree's name":               {`"Base"`, `"Candidate"`},
		"a tree id that is none":            {`"tree":"bb`, `"tree":"--`},
		"more files than a tree may have":   {`"files":2`, `"files":50001`},
		"fewer files than none":             {`"files":2`, `"files":-1`},
		"a number beyond all":               {`"files":2`, `"files":1e99`},
		"a root entry that climbs":          {`"name":"src"`, `"name":".."`},
		"a root entry with a slash":         {`"name":"src"`, `"name":"src/x"`},
		"a root entry with a newline":       {`"name":"src"`, `"name":"s\n"`},
		"a root entry twice":                {`"name":"src"`, `"name":"package.json"`},
		"root entries out of order":         {`"name":"src"`, `"name":"a"`},
		"a root entry of another kind":      {`"directory"`, `"submodule"`},
		"a file of negative size":           {`"size":2`, `"size":-2`},
		"a file of another size":            {`"size":2`, `"size":3`},
		"content that was not asked for":    {`"content":{"package.json"`, `"content":{"src"`},
		"content over its bound":            {`"size":2},{`, `"size":5},{`},
		"a field that is not known":         {`"files":2`, `"files":2,"x":1`},
		"something after the end":           {`c"}]}`, `c"}]} {}`},
		"a protected file that climbs":      {`"a.test.js"`, `"../a.test.js"`},
		"a protected file without an id":    {`"id":"cc`, `"id":"--`},
		"a protected file twice":            {`"protected":[`, `"protected":[{"path":"a.test.js","id":"cccccccccccccccccccccccccccccccccccccccc"},`},
		"no tree":                           {goodAnswer, `{}`},
		"no JSON":                           {goodAnswer, `hello`},
		"nothing":                           {goodAnswer, ``},
		"one tree too many":                 {`],"protected"`, `,{}],"protected"`},
		"a refusal with a foreign detail":   {goodAnswer, `{"refusal":{"detail":"reproduced_and_fixed","message":"x"}}`},
		"a refusal that is another failure": {goodAnswer, `{"refusal":{"detail":"node_error","message":"x"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			changed := strings.Replace(goodAnswer, change[0], change[1], 1)
			if changed == goodAnswer {
				t.Fatal("the case changes nothing")
			}
			read, err := parseAnswer(one, []byte(changed))
			var refused *ecosystem.Refusal
			if err == nil || errors.As(err, &refused) {
				t.Errorf("got %v, %v; want an error of the node", read, err)
			}
		})
	}
}

func TestARefusalsTextIsMadeSafe(t *testing.T) {
	encoded, _ := json.Marshal(answer{Refusal: &wireRefusal{
		Detail: v1alpha1.DetailTreeUnsupported, Subject: "a\x1b[31m", Message: "\x1b[31m" + strings.Repeat("x", 5000),
	}})
	_, err := parseAnswer(one, encoded)
	var refused *ecosystem.Refusal
	if !errors.As(err, &refused) {
		t.Fatal(err)
	}
	if refused.Subject != "" || strings.ContainsRune(refused.Message, 0x1b) || len(refused.Message) > maxMessage {
		t.Errorf("got %q, %q", refused.Subject, refused.Message)
	}
}

func FuzzParseAnswer(f *testing.F) {
	f.Add([]byte(goodAnswer))
	f.Add([]byte(`{"refusal":{"detail":"bundle_invalid","subject":"x","message":"y"}}`))
	f.Add([]byte(`{"trees":[{"name":"Base"}]}`))
	f.Fuzz(func(t *testing.T, output []byte) {
		read, err := parseAnswer(one, output)
		if err != nil {
			var refused *ecosystem.Refusal
			if errors.As(err, &refused) && (!slices.Contains(sayable, refused.Detail) || len(refused.Message) > maxMessage) {
				t.Errorf("refusal %+v", refused)
			}
			return
		}
		tree := read.trees[v1alpha1.TreeBase]
		if len(read.trees) != 1 || len(read.protected) > MaxProtected || tree.Commit != one.Trees[0].Commit || !objectID.MatchString(tree.TreeID) || tree.Files > MaxFiles {
			t.Errorf("accepted %+v", read)
		}
		for _, entry := range tree.Root.Names {
			if checkName(entry.Name) != "" {
				t.Errorf("accepted the name %q", entry.Name)
			}
		}
		for _, name := range slices.Collect(maps.Keys(tree.Root.Content)) {
			if int64(len(tree.Root.Content[name])) > one.Wanted[name] {
				t.Errorf("accepted %d bytes of %q", len(tree.Root.Content[name]), name)
			}
		}
	})
}
