package broker

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ai-dossier/zt-operator/internal/brokerproto"
)

func TestListenRefuses(t *testing.T) {
	uid := uint32(os.Geteuid())
	cases := map[string]func(t *testing.T) (string, uint32){
		"a folder others can enter": func(t *testing.T) (string, uint32) {
			dir := privateDir(t)
			_ = os.Chmod(dir, 0o755)
			return filepath.Join(dir, "s"), uid
		},
		"another's folder": func(t *testing.T) (string, uint32) { return filepath.Join(privateDir(t), "s"), uid + 1 },
		"a link to a private folder": func(t *testing.T) (string, uint32) {
			dir := privateDir(t)
			link := dir + ".link"
			_ = os.Symlink(dir, link)
			t.Cleanup(func() { _ = os.Remove(link) })
			return filepath.Join(link, "s"), uid
		},
		"a name that is a dangling link": func(t *testing.T) (string, uint32) {
			path := filepath.Join(privateDir(t), "s")
			_ = os.Symlink("/tmp/zt-none", path)
			return path, uid
		},
		"a name that is taken": func(t *testing.T) (string, uint32) {
			path := filepath.Join(privateDir(t), "s")
			_ = os.WriteFile(path, nil, 0o600)
			return path, uid
		},
		"a folder that is missing": func(t *testing.T) (string, uint32) { return "/zt-none/s", uid },
	}
	for name, place := range cases {
		t.Run(name, func(t *testing.T) {
			path, uid := place(t)
			if listener, err := Listen(path, uid); err == nil {
				listener.Close()
				t.Error("accepted")
			}
		})
	}
}

func TestListenNamesAPathThatIsTooLong(t *testing.T) {
	_, err := Listen("/"+strings.Repeat("x", 107), 0)
	var long *PathTooLongError
	if !errors.As(err, &long) || long.Length != 108 || long.Max != 107 {
		t.Errorf("got %v", err)
	}
}

func TestAcceptTaintsAHelloThat(t *testing.T) {
	cases := map[string]string{
		"has another protocol":  `{"protocol":"zt-broker-v2","scope":"container","phase":"provisioning","nonce":"0123456789abcdef"}` + "\n",
		"has another scope":     `{"protocol":"zt-broker-v1","scope":"vm-root","phase":"provisioning","nonce":"0123456789abcdef"}` + "\n",
		"has another phase":     `{"protocol":"zt-broker-v1","scope":"container","phase":"verification","nonce":"0123456789abcdef"}` + "\n",
		"has an earlier nonce":  `{"protocol":"zt-broker-v1","scope":"container","phase":"provisioning","nonce":"0123456789abcdee"}` + "\n",
		"has a further member":  `{"protocol":"zt-broker-v1","scope":"container","phase":"provisioning","nonce":"0123456789abcdef","x":1}` + "\n",
		"is not JSON":           "hello\n",
		"is longer than a line": strings.Repeat("x", brokerproto.MaxFrame+64<<10),
	}
	for name, hello := range cases {
		t.Run(name, func(t *testing.T) {
			listener, path := listening(t)
			g := dialed(t, path)
			go func() { _, _ = g.stream.Write([]byte(hello)) }()
			_, err := listener.Accept(t.Context(), expect, welcome(expect.Phase), nil)
			wantTaint(t, err)
			if strings.Contains(err.Error(), "vm-root") || strings.Contains(err.Error(), "abcdee") {
				t.Errorf("the guest's text is in %v", err)
			}
		})
	}
}

func TestAcceptEndsWithItsContext(t *testing.T) {
	cases := map[string]string{
		"when nothing connects":       "",
		"when the guest is silent":    "silent",
		"when the guest stops midway": `{"protocol":`,
	}
	for name, sent := range cases {
		t.Run(name, func(t *testing.T) {
			listener, path := listening(t)
			if sent != "" {
				g := dialed(t, path)
				switch sent {
				case "silent":
				default:
					_, _ = g.stream.Write([]byte(sent))
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			_, err := listener.Accept(ctx, expect, welcome(expect.Phase), nil)
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAcceptReportsAVMThatDiesBeforeItsHello(t *testing.T) {
	listener, path := listening(t)
	g := dialed(t, path)
	_ = g.stream.Close()
	_, err := listener.Accept(t.Context(), expect, welcome(expect.Phase), nil)
	if !errors.Is(err, ErrLost) {
		t.Errorf("got %v", err)
	}
}

func TestAcceptRefusesAWelcomeThatDoesNotFitThePhase(t *testing.T) {
	listener, _ := listening(t)
	_, err := listener.Accept(t.Context(), expect, welcome(brokerproto.PhaseVerification), nil)
	var refused *RequestError
	if !errors.As(err, &refused) {
		t.Errorf("got %v", err)
	}
}

func TestASecondConnectionIsRefused(t *testing.T) {
	listener, path := listening(t)
	g := dialed(t, path)
	g.send(truthful())
	conn, err := listener.Accept(t.Context(), expect, welcome(expect.Phase), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if second, err := net.Dial("unix", path); err == nil {
		_ = second.Close()
		t.Error("a second connection was accepted")
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("the socket is still there: %v", err)
	}
}
