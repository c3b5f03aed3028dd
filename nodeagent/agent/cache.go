package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/ai-dossier/zt-operator/internal/cacheaudit"
)

// auditorPatience is what the auditor beside a mirror gets to answer at all: it
// starts with the mirror, and nobody waits for it there.
const auditorPatience = 10 * time.Second

// finishing is what a mirror gets to put away what it has already served.
const finishing = 3 * time.Second

// ListCache asks the auditor beside a mirror what the mirror has cached, again for as
// long as files are still being written. Its answer is hostile; nothing of it but a
// valid list is taken.
func ListCache(ctx context.Context, mirror netip.Addr) ([]cacheaudit.Artifact, error) {
	for deadline := time.Now().Add(finishing); ; {
		artifacts, unfinished, err := askAuditor(ctx, mirror)
		if err != nil || unfinished == 0 || time.Now().After(deadline) {
			return artifacts, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func askAuditor(ctx context.Context, mirror netip.Addr) (artifacts []cacheaudit.Artifact, unfinished int, err error) {
	address := net.JoinHostPort(mirror.String(), strconv.Itoa(cacheaudit.Port))
	client := &http.Client{
		// No proxy of the environment, and nowhere but this address.
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return dialAuditor(ctx, address)
			},
			DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: 16 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return errors.New("the auditor redirects") },
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/artifacts", nil)
	if err != nil {
		return nil, 0, fmt.Errorf("asking for the mirror's cache: %w", err)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, 0, fmt.Errorf("asking for the mirror's cache: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, 0, fmt.Errorf("asking for the mirror's cache: status %d", response.StatusCode)
	}
	if artifacts, unfinished, err = cacheaudit.Parse(response.Body); err != nil {
		return nil, 0, fmt.Errorf("the mirror's cache: %w", err)
	}
	return artifacts, unfinished, nil
}

func dialAuditor(ctx context.Context, address string) (net.Conn, error) {
	deadline := time.Now().Add(auditorPatience)
	for {
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp4", address)
		if err == nil || ctx.Err() != nil || time.Now().After(deadline) {
			return conn, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}
