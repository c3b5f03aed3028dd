package fake

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/ai-dossier/zt-operator/internal/brokerproto"
	"github.com/ai-dossier/zt-operator/nodeagent/hypervisor"
)

// Workspace is the files of the guests: what put writes, get reads, each VM's own.
type Workspace struct {
	// Tree has the files that every VM begins with.
	Tree map[string]string

	mu      sync.Mutex
	written map[string][]byte
}

// Get is a Guest's Get.
func (w *Workspace) Get(c hypervisor.Config, get brokerproto.Get) Reply {
	w.mu.Lock()
	defer w.mu.Unlock()
	if data, ok := w.written[c.Dir+"/"+get.Path]; ok {
		return Reply{Data: data}
	}
	if data, ok := w.Tree[get.Path]; ok {
		return Reply{Data: []byte(data)}
	}
	return Reply{Error: brokerproto.ErrorNotFound}
}

// Put is a Guest's Put.
func (w *Workspace) Put(c hypervisor.Config, put brokerproto.Put) Reply {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.written == nil {
		w.written = map[string][]byte{}
	}
	w.written[c.Dir+"/"+put.Path] = put.Data
	return Reply{}
}

var plantedTitle = regexp.MustCompile(`"(t[0-9a-f]{20})"`)

// Sentinel plays an honest runner that is given a file which was put: the planted
// tests fail, and so, in the report, do no others. copies are the test cases of the
// copied tests. False if the command runs no such file.
func (w *Workspace) Sentinel(c hypervisor.Config, exec brokerproto.Exec, copies string) (Reply, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var report strings.Builder
	for _, arg := range exec.Argv {
		for _, m := range plantedTitle.FindAllSubmatch(w.written[c.Dir+"/"+arg], -1) {
			fmt.Fprintf(&report, `<testcase name="%s" classname="test"><failure/></testcase>`, m[1])
		}
	}
	if report.Len() == 0 {
		return Reply{}, false
	}
	data := "<testsuites>" + report.String() + copies + "</testsuites>"
	return Reply{Result: brokerproto.ExecResult{ExitCode: 1, Report: &brokerproto.Report{Data: []byte(data)}}}, true
}
