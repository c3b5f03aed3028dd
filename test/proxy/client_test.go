//go:build proxy

package proxy

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

const clientTimeout = 20 * time.Second

var ports atomic.Int32

// nextPort hands out each client port once: entries in the log are found by it.
func nextPort() int { return 10000 + int(ports.Add(1))%22000 }

func dial(namespace, from, to string) (net.Conn, error) {
	var conn net.Conn
	err := inNamespace(namespace, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), clientTimeout)
		defer cancel()
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from), Port: nextPort()}}
		var err error
		conn, err = dialer.DialContext(ctx, "tcp", to)
		return err
	})
	return conn, err
}

// exchange is one connection of a client to the proxy.
type exchange struct {
	from    string // source address; the mirror's if empty
	connect string // authority of CONNECT; none is sent if empty
	// connectHost is the Host header of CONNECT; the authority if empty.
	connectHost string
	sni         string // server name of the client hello; the authority's host if empty
	alpn        []string
	rawTLS      string // sent in place of a client hello
	http        string // what is sent inside the tunnel, or bare without one
}

// reply is what the client saw.
type reply struct {
	port    int    // local port, which finds the log entries
	connect int    // status of the CONNECT, 0 for none
	status  int    // status of the request, 0 for none
	body    int64  // bytes of the body received
	err     error  // what ended it early
	issuer  string // who signed the certificate in the tunnel
	alpn    string // the protocol that was agreed on in the tunnel
}

func (s *squid) send(top *topology, x exchange) (r reply) {
	from := x.from
	if from == "" {
		from = mirrorIP
	}
	conn, err := dial(top.mirror, from, net.JoinHostPort(squidIP, "3128"))
	if err != nil {
		return reply{err: err}
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(clientTimeout))
	r.port = conn.LocalAddr().(*net.TCPAddr).Port
	if x.connect != "" {
		if conn, r.err = s.tunnel(conn, x, &r); r.err != nil {
			return r
		}
	}
	if _, r.err = io.WriteString(conn, x.http); r.err != nil {
		return r
	}
	method, _, _ := strings.Cut(x.http, " ")
	response, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		r.err = err
		return r
	}
	r.status = response.StatusCode
	r.body, r.err = io.Copy(io.Discard, response.Body)
	return r
}

func (s *squid) tunnel(conn net.Conn, x exchange, r *reply) (net.Conn, error) {
	if _, err := fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", x.connect, cmp.Or(x.connectHost, x.connect)); err != nil {
		return nil, err
	}
	response, err := http.ReadResponse(bufio.NewReaderSize(conn, 16), &http.Request{Method: "CONNECT"})
	if err != nil {
		return nil, err
	}
	r.connect = response.StatusCode
	if response.StatusCode != http.StatusOK {
		return nil, errors.New("the tunnel was refused")
	}
	if x.rawTLS != "" {
		_, err := io.WriteString(conn, x.rawTLS)
		return conn, err
	}
	name := x.sni
	if name == "" {
		name, _, _ = strings.Cut(x.connect, ":")
	}
	client := tls.Client(conn, &tls.Config{RootCAs: s.ca, ServerName: name, NextProtos: x.alpn})
	if err := client.Handshake(); err != nil {
		return nil, err
	}
	r.alpn = client.ConnectionState().NegotiatedProtocol
	r.issuer = client.ConnectionState().PeerCertificates[0].Issuer.CommonName
	return client, nil
}
