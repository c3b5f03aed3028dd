package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/ai-dossier/zt-operator/internal/cacheaudit"
)

// auditTimeout bounds one list: hashing 4 GiB takes some 10 s, and a profile admits a
// volume of 16 GiB at most.
const auditTimeout = 60 * time.Second

// cacheAudit answers GET /artifacts with what is in a mirror's storage folder.
func cacheAudit(ctx context.Context, storage string) error {
	// Nothing below this folder is followed out of it: the mirror writes there.
	root, err := os.OpenRoot(storage)
	if err != nil {
		return fmt.Errorf("open the mirror's storage: %w", err)
	}
	defer root.Close()
	listener, err := net.Listen("tcp4", fmt.Sprintf(":%d", cacheaudit.Port))
	if err != nil {
		return fmt.Errorf("listen for the node agent: %w", err)
	}
	server := &http.Server{
		Handler:           artifacts(root),
		ReadHeaderTimeout: 5 * time.Second,
		WriteTimeout:      auditTimeout + 30*time.Second,
		IdleTimeout:       time.Second,
		MaxHeaderBytes:    4 << 10,
	}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the node agent: %w", err)
	}
	return nil
}

// artifacts makes one list at a time.
func artifacts(root *os.Root) http.Handler {
	var one sync.Mutex
	mux := http.NewServeMux()
	mux.HandleFunc("GET /artifacts", func(w http.ResponseWriter, r *http.Request) {
		one.Lock()
		defer one.Unlock()
		ctx, cancel := context.WithTimeout(r.Context(), auditTimeout)
		defer cancel()
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(cacheaudit.Make(ctx, root.FS()))
	})
	return mux
}
