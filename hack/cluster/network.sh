# shellcheck shell=bash
# The link between the machine and the node, and the address translation through which pods reach the registries.

# link_up PID connects the network namespace of PID (as node0) with the machine's.
link_up() {
	ip link add "$LINK" type veth peer name node0 netns "$1"
	sysctl -qw "net.ipv6.conf.$LINK.disable_ipv6=1"
	ip address add "$MACHINE_IP/24" dev "$LINK"
	ip link set "$LINK" up
	sysctl -qw net.ipv4.ip_forward=1
	nft -f - <<-EOF
		table ip $LINK {
			chain postrouting {
				type nat hook postrouting priority srcnat;
				ip saddr $NODE_SUBNET oifname != "$LINK" masquerade
			}
		}
	EOF
	forward_rules -I
}

link_down() {
	forward_rules -D
	nft delete table ip "$LINK" 2>/dev/null || true
	ip link delete "$LINK" 2>/dev/null || true
}

# forward_rules -I|-D: on a machine that forwards nothing by default (Docker sets that), our link is an exception.
forward_rules() {
	iptables -S FORWARD 2>/dev/null | grep -q '^-P FORWARD DROP' || return 0
	local direction
	for direction in -i -o; do iptables "$1" FORWARD "$direction" "$LINK" -j ACCEPT 2>/dev/null || true; done
}

# resolv_conf prints the machine's real nameservers: a stub on the machine's loopback does not answer in the node.
resolv_conf() {
	local file=/etc/resolv.conf
	if grep -qE '^nameserver (127\.|::1)' "$file" && [[ -r /run/systemd/resolve/resolv.conf ]]; then
		file=/run/systemd/resolve/resolv.conf
	fi
	grep -E '^(nameserver|options)' "$file"
}
