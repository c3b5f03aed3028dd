"""Serves proxpi, a caching mirror of PyPI, to one run.

proxpi itself is configured by its environment. What differs here from proxpi as it comes:

- it asks for an index page at its canonical URL, the normalised name with a slash behind it. PyPI answers every other
  spelling with a redirect, and Squid admits none.
- it never redirects a client upstream: the client has no way there. A file that cannot be had is an error that says so.
- it never asks for the index of all projects, which Squid would deny.
- a file stays once it was served: it is audited when the run is over. One download of a file at a time.
- a request that got no whole answer, or Squid's word that the registry gave none, is made again: pip and uv are told not
  to.
- only what pip and uv need can be asked for: pages of the index, files, and /health.

One process with threads: proxpi's caches are in memory, and several processes gave empty replies (its issue 68).
"""

import functools
import os
import re
import signal
import sys
import threading

import flask
import requests.adapters
import urllib3
import waitress
from proxpi import _cache

PORT = 4873
# Each request that needs a download holds a thread until the file is here. uv asks for up to 50 at once.
THREADS = 64
# A connection that is closed while a slow VM takes it up again is an error in pip and uv.
IDLE_SECONDS = 6 * 3600
# A connection that Squid cannot make ends in its error page, under a certificate that Python 3.13 does not accept: that is
# an error of the connection, too. A refusal (403) is final. Silence takes long to be one, so it is tried once more only.
RETRY = urllib3.Retry(
    total=3, read=1, backoff_factor=0.3, status_forcelist=(502, 503, 504), allowed_methods=("GET",), redirect=False,
    raise_on_status=False,
)
SERVED = {"list_files", "get_file", "health"}


class UpstreamFailed(Exception):
    """The registry, or Squid on the way to it, gave no usable answer."""


class Session(_cache.Session):
    """Takes every answer but success and "not found" for a failure: a refusal is not an absence."""

    def __init__(self):
        super().__init__()
        self.mount("https://", requests.adapters.HTTPAdapter(pool_maxsize=THREADS, max_retries=RETRY))

    def send(self, request, **options):
        response = super().send(request, **options)
        if not response.ok and response.status_code != 404:
            response.close()
            raise UpstreamFailed(f"{request.url} was answered with {response.status_code}")
        return response


def whole(fetch):
    """Makes a request again whose answer broke off in the middle."""

    @functools.wraps(fetch)
    def attempt(*arguments):
        for _ in range(2):
            try:
                return fetch(*arguments)
            except requests.exceptions.ChunkedEncodingError as error:
                print(f"mirror: an answer broke off: {error}", file=sys.stderr)
        return fetch(*arguments)

    return attempt


def page_of(project):
    """Returns the path of a project's page below the index: PEP 503's normalised name and a slash."""
    return re.sub(r"[-_.]+", "-", project.rstrip("/")).lower() + "/"


class Index(_cache._IndexCache):
    _list_files = whole(_cache._IndexCache._list_files)

    def list_files(self, package_name):
        return super().list_files(page_of(package_name))

    def get_file_url(self, package_name, file_name):
        return super().get_file_url(page_of(package_name), file_name)

    def list_projects(self):
        # Called when a project's own page was not found.
        raise _cache.NotFound("the index of all projects is not mirrored")


class Files(_cache._FileCache):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self._guard = threading.Lock()
        self._by_key = {}

    _download_file = whole(_cache._FileCache._download_file)

    def get(self, url):
        key = self._get_key(url)
        with self._guard:
            # proxpi's get calls itself.
            lock = self._by_key.setdefault(key, threading.RLock())
        with lock:
            path = super().get(url)
            if path != url:
                return path
            raise self._failure(key, url)

    def _failure(self, key, url):
        """Forgets a download that ended without a file, so that a client may try again, and says what happened."""
        download = self._files.get(key)
        if not isinstance(download, threading.Thread):
            return UpstreamFailed(f"{url}: the connection to the registry failed")
        if download.is_alive():
            return UpstreamFailed(f"{url} is still being downloaded after {self.download_timeout} s")
        self._files.pop(key, None)
        return _cache.NotFound(url)

    def _evict_lfu(self, url):
        """Nothing: the volume is the bound."""


def application():
    _cache.Session = Session
    _cache.Cache._index_cache_cls = Index
    _cache.Cache._file_cache_cls = Files
    from proxpi import server

    server.app.before_request(only_what_is_served)
    for failure in (UpstreamFailed, requests.RequestException):
        server.app.register_error_handler(failure, bad_gateway)
    return server.app


def only_what_is_served():
    if flask.request.endpoint not in SERVED or flask.request.method not in ("GET", "HEAD"):
        flask.abort(404)


def bad_gateway(error):
    flask.current_app.logger.error("upstream: %s", error)
    return "The mirror got no answer from the registry that it could pass on.\n", 502


def main():
    if not os.environ.get("HTTPS_PROXY"):
        sys.exit("mirror: HTTPS_PROXY does not name Squid")
    # The first process of a container has no default action for it.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    waitress.serve(
        application(), host="0.0.0.0", port=PORT, threads=THREADS, ident=None,
        channel_timeout=IDLE_SECONDS, connection_limit=1024, clear_untrusted_proxy_headers=True,
    )


if __name__ == "__main__":
    main()
