package proxyca

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"time"
)

const (
	// Lifetime of a CA. It outlasts the longest run the API admits, one day, and
	// little else: the key dies with the attempt's Secret.
	Lifetime = 36 * time.Hour

	// skew admits nodes whose clocks are behind the operator's.
	skew = 10 * time.Minute
)

// New makes a CA valid from a few minutes before now for Lifetime. It returns the
// certificate and its PKCS #8 key in PEM; Squid's ca.pem is the two together, the
// mirror gets the certificate alone. The serial number is read from rand; the key
// comes from the process's secure source, as crypto/ecdsa insists.
func New(now time.Time, rand io.Reader) (certPEM, keyPEM []byte, err error) {
	serial := make([]byte, 16)
	if _, err := io.ReadFull(rand, serial); err != nil {
		return nil, nil, fmt.Errorf("read a serial number for the proxy CA: %w", err)
	}
	serial[0] = serial[0]&0x7f | 0x40 // positive, and always 16 bytes long
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand)
	if err != nil {
		return nil, nil, fmt.Errorf("generate the proxy CA's key: %w", err)
	}
	public, err := key.PublicKey.Bytes()
	if err != nil {
		return nil, nil, fmt.Errorf("encode the proxy CA's public key: %w", err)
	}
	id := sha256.Sum256(public)
	template := &x509.Certificate{
		SerialNumber:          new(big.Int).SetBytes(serial),
		Subject:               pkix.Name{CommonName: fmt.Sprintf("ZT run proxy CA %x", serial[:4])},
		NotBefore:             now.Add(-skew).UTC(),
		NotAfter:              now.Add(Lifetime).UTC(),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		IsCA:                  true,
		BasicConstraintsValid: true,
		MaxPathLenZero:        true,
		SubjectKeyId:          id[:20],
	}
	der, err := x509.CreateCertificate(rand, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, nil, fmt.Errorf("sign the proxy CA's certificate: %w", err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, fmt.Errorf("encode the proxy CA's key: %w", err)
	}
	certPEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})
	return certPEM, keyPEM, nil
}
