{{- define "zt.labels" -}}
app.kubernetes.io/name: zt-operator
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | quote }}
{{- end }}

{{- define "zt.operator.selector" -}}
app.kubernetes.io/name: zt-operator
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end }}

{{- define "zt.nodeAgent.selector" -}}
app.kubernetes.io/name: zt-operator
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: node-agent
{{- end }}

{{/* zt.image fails unless the named image value is a reference with a digest. */}}
{{- define "zt.image" -}}
{{- if not (regexMatch "^[a-zA-Z0-9][a-zA-Z0-9._:/-]*@sha256:[0-9a-f]{64}$" .image) -}}
{{- fail (printf "%s is %q, expected registry/repository@sha256:<64 hex digits>" .name .image) -}}
{{- end -}}
{{- .image -}}
{{- end }}

{{- define "zt.caBundle.name" -}}
zt-registry-ca
{{- end }}

{{/* zt.nodeClaim is CEL: the node that the caller's token is bound to, or nothing. */}}
{{- define "zt.nodeClaim" -}}
request.userInfo.?extra[?'authentication.kubernetes.io/node-name'].orValue([''])[0]
{{- end }}
