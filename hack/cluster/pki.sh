# shellcheck shell=bash
# One certificate authority, the certificates of every component, and their kubeconfigs.

make_pki() {
	mkdir -p "$STATE/pki"
	cd "$STATE/pki" || return
	authority
	local names="DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local"
	certificate apiserver /CN=kube-apiserver serverAuth "$names,DNS:localhost,IP:127.0.0.1,IP:${SERVICE_SUBNET%.0/*}.1,IP:$NODE_IP"
	certificate kubelet-server "/O=system:nodes/CN=system:node:$NODE" serverAuth "DNS:$NODE,IP:$NODE_IP,IP:127.0.0.1"
	certificate apiserver-kubelet-client /O=system:masters/CN=kube-apiserver-kubelet-client clientAuth
	certificate front-proxy-client /CN=front-proxy-client clientAuth
	client admin /O=system:masters/CN=admin
	client kube-controller-manager /CN=system:kube-controller-manager
	client kube-scheduler /CN=system:kube-scheduler
	client kube-proxy /CN=system:kube-proxy
	client kubelet "/O=system:nodes/CN=system:node:$NODE"
	key sa
	openssl ec -in sa.key -pubout -out sa.pub
	install -m 600 admin.conf "$KUBECONFIG_FILE"
}

key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"; }

authority() {
	key ca
	openssl req -x509 -new -key ca.key -subj /CN=zt-dev -days 3650 -out ca.crt \
		-addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign,digitalSignature
}

# certificate NAME SUBJECT USAGE [ALTERNATIVE_NAMES]
certificate() {
	key "$1"
	openssl req -new -key "$1.key" -subj "$2" -out "$1.csr"
	{
		echo "extendedKeyUsage=$3"
		echo "keyUsage=critical,digitalSignature"
		[[ -z ${4-} ]] || echo "subjectAltName=$4"
	} >"$1.ext"
	openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 3650 -extfile "$1.ext" -out "$1.crt"
}

# client NAME SUBJECT makes a client certificate and a kubeconfig that carries it, usable from anywhere on the machine.
client() {
	certificate "$1" "$2" clientAuth
	cat >"$1.conf" <<-EOF
		apiVersion: v1
		kind: Config
		clusters: [{name: zt-dev, cluster: {server: "https://$NODE_IP:6443", certificate-authority-data: $(base64 -w 0 ca.crt)}}]
		users: [{name: $1, user: {client-certificate-data: $(base64 -w 0 "$1.crt"), client-key-data: $(base64 -w 0 "$1.key")}}]
		contexts: [{name: zt-dev, context: {cluster: zt-dev, user: $1}}]
		current-context: zt-dev
	EOF
}
