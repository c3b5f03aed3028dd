package proxyca

import (
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"testing"
	"time"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func parse(t *testing.T, certPEM []byte) *x509.Certificate {
	t.Helper()
	block, rest := pem.Decode(certPEM)
	if block == nil || len(rest) != 0 {
		t.Fatalf("not exactly one PEM block: %q", certPEM)
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func TestTheCAIsShortLivedAndSignsOnlyLeaves(t *testing.T) {
	certPEM, keyPEM, err := New(now, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tls.X509KeyPair(certPEM, keyPEM); err != nil {
		t.Fatalf("the key is not the certificate's: %v", err)
	}
	cert := parse(t, certPEM)
	if !cert.IsCA || cert.MaxPathLen != 0 || !cert.MaxPathLenZero {
		t.Errorf("a CA that may sign other CAs: IsCA %v, path length %d", cert.IsCA, cert.MaxPathLen)
	}
	if cert.KeyUsage != x509.KeyUsageCertSign|x509.KeyUsageCRLSign {
		t.Errorf("key usage is %b", cert.KeyUsage)
	}
	if !cert.NotBefore.Before(now) || now.Sub(cert.NotBefore) > time.Hour {
		t.Errorf("valid from %s, made at %s", cert.NotBefore, now)
	}
	if valid := cert.NotAfter.Sub(now); valid < 24*time.Hour || valid > 48*time.Hour {
		t.Errorf("valid for %s, want more than the longest run and less than two days", valid)
	}
	if err := cert.CheckSignatureFrom(cert); err != nil {
		t.Errorf("not self-signed: %v", err)
	}
}

func TestEveryCAIsItsOwn(t *testing.T) {
	first, firstKey, err := New(now, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	second, secondKey, err := New(now, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(firstKey, secondKey) || parse(t, first).SerialNumber.Cmp(parse(t, second).SerialNumber) == 0 {
		t.Error("two CAs share a key or a serial number")
	}
}

func TestTheSerialNumberComesFromTheGivenRandomness(t *testing.T) {
	certPEM, _, err := New(now, io.MultiReader(bytes.NewReader(bytes.Repeat([]byte{0xff}, 16)), rand.Reader))
	if err != nil {
		t.Fatal(err)
	}
	got := parse(t, certPEM).SerialNumber
	if want := append([]byte{0x7f}, bytes.Repeat([]byte{0xff}, 15)...); !bytes.Equal(got.Bytes(), want) {
		t.Errorf("serial number %x, want %x", got.Bytes(), want)
	}
}

func TestWithoutRandomnessThereIsNoCA(t *testing.T) {
	_, _, err := New(now, bytes.NewReader([]byte("short")))
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v, want the reader's error", err)
	}
}
