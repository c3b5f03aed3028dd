//go:build proxy

package proxy

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// world is the fake outside: DNS and https at every address of the upstream
// namespace. It records who was asked what.
type world struct {
	caPEM   []byte
	caCert  *x509.Certificate
	caKey   *ecdsa.PrivateKey
	records map[string][]netip.Addr
	// alternate are names with another answer to each question for an address.
	alternate map[string][]netip.Addr
	// registry, if set, answers in place of serve.
	registry http.HandlerFunc

	mu       sync.Mutex
	asked    map[string]int // DNS questions by name
	requests []string       // "method host path" that reached it
	headers  []http.Header
	arrivals map[string]int // connections by destination address
}

func newWorld(t *testing.T, top *topology, records map[string][]netip.Addr) *world {
	t.Helper()
	w := &world{records: records, asked: map[string]int{}, arrivals: map[string]int{}}
	w.makeCA(t)
	err := inNamespace(top.upstream, func() error {
		dns, err := net.ListenPacket("udp", upstreamIP+":53")
		if err != nil {
			return err
		}
		t.Cleanup(func() { dns.Close() })
		go w.serveDNS(dns)
		for _, port := range []string{":80", ":443", ":8443"} {
			listener, err := net.Listen("tcp", port)
			if err != nil {
				return err
			}
			t.Cleanup(func() { listener.Close() })
			go w.serveHTTPS(counted{listener, w})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

type counted struct {
	net.Listener
	world *world
}

func (c counted) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		host, _, _ := net.SplitHostPort(conn.LocalAddr().String())
		c.world.mu.Lock()
		c.world.arrivals[strings.TrimPrefix(host, "::ffff:")]++
		c.world.mu.Unlock()
	}
	return conn, err
}

func (w *world) makeCA(t *testing.T) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "fake world CA"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, SubjectKeyId: []byte{1, 2, 3},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	w.caKey, w.caPEM = key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	w.caCert, err = x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
}

// certificate answers any name with a certificate for it, except that
// untrusted.test signs its own and shared-a.test and shared-b.test share one.
func (w *world) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: hello.ServerName},
		DNSNames: []string{hello.ServerName}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if strings.HasPrefix(hello.ServerName, "shared-") {
		template.DNSNames = []string{"shared-a.test", "shared-b.test"}
	}
	issuer, signer := w.caCert, w.caKey
	switch hello.ServerName {
	case "untrusted.test":
		issuer, signer = template, key
	case "expired.test":
		template.NotAfter = time.Now().Add(-time.Minute)
	case "plain.test":
		return nil, errors.New("no certificate")
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, &key.PublicKey, signer)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

func (w *world) serveHTTPS(listener net.Listener) {
	var mu sync.Mutex
	cache := map[string]*tls.Certificate{}
	server := &http.Server{
		Handler:  http.HandlerFunc(w.serve),
		ErrorLog: log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			mu.Lock()
			defer mu.Unlock()
			if cert := cache[hello.ServerName]; cert != nil {
				return cert, nil
			}
			cert, err := w.certificate(hello)
			if err == nil {
				cache[hello.ServerName] = cert
			}
			return cert, err
		}},
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
	}
	_ = server.ServeTLS(listener, "", "")
}

// serve answers as a registry would, and misbehaves for names that ask for it:
// redirect-<status>, moved-<status>, size-<bytes>, chunked-<bytes>, etag, cut.
func (w *world) serve(out http.ResponseWriter, in *http.Request) {
	w.mu.Lock()
	w.requests = append(w.requests, in.Method+" "+in.Host+" "+in.RequestURI)
	w.headers = append(w.headers, in.Header.Clone())
	w.mu.Unlock()
	if w.registry != nil {
		w.registry(out, in)
		return
	}
	name := strings.Trim(strings.TrimPrefix(in.URL.Path, "/simple"), "/")
	kind, argument, _ := strings.Cut(name, "-")
	number, _ := strconv.ParseInt(argument, 10, 64)
	switch {
	case kind == "redirect":
		out.Header().Set("Location", "https://elsewhere.test/x")
		out.WriteHeader(int(number))
	case kind == "moved":
		out.Header().Set("Location", "https://registry.npmjs.org/semver")
		out.WriteHeader(int(number))
	case kind == "size":
		out.Header().Set("Content-Length", argument)
		_, _ = io.CopyN(out, zeros{}, number)
	case kind == "chunked":
		out.(http.Flusher).Flush()
		_, _ = io.CopyN(out, zeros{}, number)
	case kind == "cut":
		out.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(out, "short")
		panic(http.ErrAbortHandler)
	case kind == "chunkcut":
		_, _ = io.WriteString(out, "short")
		out.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	case kind == "reset":
		panic(http.ErrAbortHandler)
	case kind == "hang":
		<-in.Context().Done()
	case kind == "stall":
		_, _ = io.WriteString(out, "short")
		out.(http.Flusher).Flush()
		<-in.Context().Done()
	case kind == "garbage":
		conn, _, _ := http.NewResponseController(out).Hijack()
		_, _ = io.WriteString(conn, "who knows\r\n\r\n")
		conn.Close()
	case kind == "status":
		out.WriteHeader(int(number))
	case kind == "etag" && in.Header.Get("If-None-Match") != "":
		out.WriteHeader(http.StatusNotModified)
	default:
		fmt.Fprintf(out, "%s %s\n", in.Method, name)
	}
}

// seen returns how many requests reached the world.
func (w *world) seen() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.requests)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func (w *world) serveDNS(conn net.PacketConn) {
	buffer := make([]byte, 1500)
	for {
		n, from, err := conn.ReadFrom(buffer)
		if err != nil {
			return
		}
		var query dnsmessage.Message
		if query.Unpack(buffer[:n]) != nil || len(query.Questions) != 1 || strings.HasPrefix(query.Questions[0].Name.String(), "mute.") {
			continue
		}
		answer, err := w.answer(query)
		if err == nil {
			_, _ = conn.WriteTo(answer, from)
		}
	}
}

func (w *world) answer(query dnsmessage.Message) ([]byte, error) {
	question := query.Questions[0]
	name := strings.TrimSuffix(strings.ToLower(question.Name.String()), ".")
	addresses, known := w.lookUp(name, question.Type)
	reply := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: query.ID, Response: true, RecursionAvailable: true},
		Questions: query.Questions,
	}
	if !known {
		reply.RCode = dnsmessage.RCodeNameError
	}
	for _, address := range addresses {
		header := dnsmessage.ResourceHeader{Name: question.Name, Type: question.Type, Class: dnsmessage.ClassINET, TTL: 1}
		switch {
		case question.Type == dnsmessage.TypeA && address.Is4():
			reply.Answers = append(reply.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AResource{A: address.As4()}})
		case question.Type == dnsmessage.TypeAAAA && address.Is6():
			reply.Answers = append(reply.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AAAAResource{AAAA: address.As16()}})
		}
	}
	return reply.Pack()
}

// lookUp counts a question and returns the addresses that answer it.
func (w *world) lookUp(name string, kind dnsmessage.Type) (addresses []netip.Addr, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked[name]++
	if list := w.alternate[name]; len(list) > 0 {
		if kind == dnsmessage.TypeA {
			w.alternate[name] = append(list[1:], list[0])
		}
		return list[:1], true
	}
	addresses, known = w.records[name]
	return addresses, known
}
